//! Text from outside (host names, labels, the last words of a dead worker) made safe for a terminal.
//!
//! Such text may hold escape sequences that move the cursor, recolour or retitle a terminal, and marks that reverse
//! the direction of writing. They are shown as `?`, so that one sees that something was there. Refused: dropping
//! them silently, which would make two different names look the same.

use std::fmt::Write as _;

/// Characters of [`said`] before anything is spelled: two lines of a wide terminal.
const SAID_CHARS_MAX: usize = 400;

/// `text` on one line: line breaks and tabs become spaces, other control or direction marks become `?`. What helps
/// against an error, which has a line of its own, stays apart from it.
pub fn printable(text: &str) -> String {
    text.replace("\nhint: ", "; hint: ")
        .chars()
        .map(|c| match c {
            '\n' | '\r' | '\t' => ' ',
            c if is_unsafe(c) => '?',
            c => c,
        })
        .collect()
}

/// What is said of a text from outside, with words of it: one line of at most some [`SAID_CHARS_MAX`] characters, whose
/// middle is left out where there are more, since who says it stands at both ends. Line breaks and what else acts on a
/// terminal are spelled as Rust does: `\n`.
pub fn said(text: &str) -> String {
    let half = SAID_CHARS_MAX / 2;
    let count = text.chars().count();
    let escaped = |part: &mut dyn Iterator<Item = char>| -> String {
        part.map(|c| match c {
            c if is_unsafe(c) => c.escape_default().to_string(),
            c => c.to_string(),
        })
        .collect()
    };
    if count <= SAID_CHARS_MAX {
        return escaped(&mut text.chars());
    }
    let begin = escaped(&mut text.chars().take(half));
    let end = escaped(&mut text.chars().skip(count - half));
    format!("{begin} ... {end}")
}

/// A JSON text with nothing in it that [`printable`] would not let through: within strings, the only place where such
/// characters stand in it, they become `\uXXXX`, which reads back as the same text. C0 controls JSON escapes by itself.
pub fn json(text: String) -> String {
    let acts = |c: char| c >= '\u{7f}' && is_unsafe(c);
    if !text.contains(acts) {
        return text;
    }
    let mut out = String::with_capacity(text.len() + 64);
    for c in text.chars() {
        if acts(c) {
            // None of them is beyond 16 bits; writing to a String cannot fail.
            let _ = write!(out, "\\u{:04x}", u32::from(c));
        } else {
            out.push(c);
        }
    }
    out
}

/// A word as it is typed in a shell.
pub fn quoted(word: &str) -> String {
    let plain = |c: char| c.is_ascii_alphanumeric() || "-_./=:@%+,".contains(c);
    if !word.is_empty() && word.chars().all(plain) {
        word.to_owned()
    } else {
        format!("'{}'", word.replace('\'', r"'\''"))
    }
}

/// C0 and C1 controls, DEL, line and paragraph separators, and the marks of Unicode's bidirectional algorithm
/// (UAX #9) together with the other invisible marks of the same block; and
/// what is no character at all, which no XML may hold.
fn is_unsafe(c: char) -> bool {
    let is_mark = matches!(
        c,
        '\u{61c}' | '\u{200b}'..='\u{200f}' | '\u{2028}'..='\u{202e}' | '\u{2060}'..='\u{2069}' | '\u{feff}'
            | '\u{fffe}'..='\u{ffff}'
    );
    c.is_control() || is_mark
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_json_text_reads_back_as_it_was_and_moves_nothing() {
        let all: String = (0x20..=0xffff_u32).filter_map(char::from_u32).collect();
        let text =
            serde_json::to_string_pretty(&[&all, "新 é 🦀\n\u{7f}\u{9b}31m\u{202e}"]).unwrap();
        let safe = json(text.clone());
        for c in safe.chars() {
            assert!(c == '\n' || !is_unsafe(c), "{c:?}");
        }
        for escaped in ["\\u007f", "\\u009b", "\\u202e", "\\u061c", "\\u2066"] {
            assert!(safe.contains(escaped), "{escaped}");
        }
        let read = |text: &str| serde_json::from_str::<Vec<String>>(text).unwrap();
        assert_eq!(read(&safe), read(&text));
        assert!(safe.contains("新 é 🦀"));
        assert_eq!(json(safe.clone()), safe);
    }

    #[test]
    fn an_error_and_what_helps_are_two_parts_of_one_line() {
        assert_eq!(
            printable("it is busy\nhint: wait"),
            "it is busy; hint: wait"
        );
        assert_eq!(printable("one\ttwo\r\n\u{1b}[31m"), "one two  ?[31m");
    }

    #[test]
    fn what_is_said_of_a_text_is_one_line_that_is_not_long() {
        let check = |text: &str, expect: &str| assert_eq!(said(text), expect);
        check("the label `新`", "the label `新`");
        check(
            "`a\nhint: b`\u{202e}\u{1b}[m",
            r"`a\nhint: b`\u{202e}\u{1b}[m",
        );
        let long = format!("begins {}\n ends", "y".repeat(1 << 20));
        let short = said(&long);
        assert!(short.starts_with("begins yyy") && short.ends_with(r"yyy\n ends"));
        assert!(short.contains(" ... ") && short.len() < 410, "{short}");
        check(&"y".repeat(SAID_CHARS_MAX), &"y".repeat(SAID_CHARS_MAX));
    }

    #[test]
    fn words_are_quoted_where_a_shell_would_change_them() {
        for (word, expect) in [
            ("--device", "--device"),
            ("/dev/loop0=ab-1", "/dev/loop0=ab-1"),
            ("storage.*", "'storage.*'"),
            ("a b", "'a b'"),
            ("it's", r"'it'\''s'"),
            ("", "''"),
        ] {
            assert_eq!(quoted(word), expect);
        }
    }

    #[test]
    fn nothing_that_moves_a_cursor_or_turns_text_around_gets_through() {
        let check = |text: &str, expect: &str| assert_eq!(printable(text), expect);
        check("plain-host.example", "plain-host.example");
        check("計測 サーバー", "計測 サーバー");
        check("a\u{1b}[31mred\u{7}", "a?[31mred?");
        check("two\nlines\tand\r", "two lines and ");
        check("c1\u{9b}2J", "c1?2J");
        check("abc\u{202e}cba", "abc?cba");
    }

    #[test]
    fn no_control_character_survives() {
        let everything: String = (0..0x3000).filter_map(char::from_u32).collect();
        assert!(!printable(&everything).chars().any(char::is_control));
    }
}

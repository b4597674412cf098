//! What every reader of outputs needs: a text without what terminals, mails and editors put into it, and its numbers.

/// The text of these bytes: UTF-8 or UTF-16 with a byte order mark, without carriage returns, colours and other control
/// sequences of terminals. `None` where it is no text.
pub fn plain(bytes: &[u8]) -> Option<String> {
    let text = match bytes {
        [0xff, 0xfe, rest @ ..] => utf16(rest, u16::from_le_bytes)?,
        [0xfe, 0xff, rest @ ..] => utf16(rest, u16::from_be_bytes)?,
        [0xef, 0xbb, 0xbf, rest @ ..] => std::str::from_utf8(rest).ok()?.to_owned(),
        bytes => std::str::from_utf8(bytes).ok()?.to_owned(),
    };
    (!text.contains('\0')).then(|| without_controls(&text))
}

fn utf16(bytes: &[u8], unit: fn([u8; 2]) -> u16) -> Option<String> {
    let (pairs, rest) = bytes.as_chunks::<2>();
    let units = pairs.iter().map(|&pair| unit(pair));
    let text: Result<String, _> = char::decode_utf16(units).collect();
    text.ok().filter(|_| rest.is_empty())
}

/// Line ends become `\n`; escape sequences (ECMA-48) and what a terminal writes over go.
fn without_controls(text: &str) -> String {
    let mut out = String::with_capacity(text.len());
    let mut chars = text.chars().peekable();
    while let Some(c) = chars.next() {
        match c {
            '\x1b' => match chars.next() {
                // A control sequence ends at its first letter or sign above `?`.
                Some('[') => while chars.next().is_some_and(|c| !('@'..='~').contains(&c)) {},
                // A title of a window ends at BEL, or at an escape of its own.
                Some(']') => while chars.next().is_some_and(|c| c != '\x07' && c != '\x1b') {},
                _ => {}
            },
            '\r' if chars.peek() == Some(&'\n') => {}
            '\r' => out.push('\n'),
            '\n' | '\t' => out.push(c),
            c if c.is_control() => {}
            c => out.push(c),
        }
    }
    out
}

/// The number that a word begins with, and what follows it: `12.5MB/s` is 12.5 and `MB/s`. Commas between groups of
/// three digits are left out, and other commas make it no number; nor is one that is beyond all measure.
pub fn number(word: &str) -> Option<(f64, &str)> {
    let end = word
        .char_indices()
        .find(|&(at, c)| {
            let exponent = at > 0 && matches!(c, 'e' | 'E') && exponent(&word[at + 1..]);
            let sign = matches!(c, '-' | '+') && (at == 0 || word[..at].ends_with(['e', 'E']));
            !(c.is_ascii_digit() || matches!(c, '.' | ',') || exponent || sign)
        })
        .map_or(word.len(), |(at, _)| at);
    let (digits, rest) = word.split_at(end);
    // One at the end is of the sentence.
    if !commas_part_thousands(digits.trim_end_matches(',')) {
        return None;
    }
    let value: f64 = digits.replace(',', "").parse().ok()?;
    (value.abs() < BEYOND).then_some((value, rest))
}

/// Nothing that anybody measures comes near to it, in whatever unit, and what follows from less is finite.
const BEYOND: f64 = 1e24;

/// No program that is read here prints a longer line; longer ones are not looked into.
const LONGEST: usize = 2000;

/// The lines of a text with their numbers from 1, each without what mails and pages quote it with and without blanks
/// around it. One that is too long to be a program's is empty.
pub fn lines(text: &str) -> impl Iterator<Item = (usize, &str)> {
    let short = |line: &'_ str| line.len() <= LONGEST;
    (1..).zip(
        text.lines()
            .map(move |line| if short(line) { unquoted(line) } else { "" }),
    )
}

fn unquoted(line: &str) -> &str {
    let mut line = line.trim();
    while let Some(rest) = ["&gt;", ">", "|"]
        .iter()
        .find_map(|mark| line.strip_prefix(mark))
    {
        line = rest.trim_start();
    }
    line
}

/// What stands before the first colon or equals sign of a line, in lowercase and with single blanks, and what follows.
pub fn keyed(line: &str) -> Option<(String, &str)> {
    let (key, value) = line.split_once([':', '=', '\u{ff1a}'])?;
    let words: Vec<&str> = key.split_whitespace().collect();
    Some((words.join(" ").to_lowercase(), value.trim()))
}

/// The [`number`] that a text begins with, of a program that never groups digits and measures nothing negative: a
/// comma in it would be a decimal one.
pub fn amount(text: &str) -> Option<(f64, &str)> {
    let text = text.trim_start();
    let word = text.split_whitespace().next()?;
    let (value, rest) = number(word)?;
    let digits = word.len() - rest.len();
    let plain = !text[..digits].contains(',') && !text.starts_with('-');
    plain.then_some((value, text[digits..].trim_start()))
}

/// Whether a line may be the rest of a number that a narrow window or a mail broke: it begins as a number goes on.
pub fn goes_on(line: &str) -> bool {
    let line = line.trim_start();
    let rest = line.strip_prefix('.').unwrap_or(line);
    rest.starts_with(|c: char| c.is_ascii_digit())
}

/// Whether every comma stands where thousands end: `0,934` is a number of a country where that is less than one.
fn commas_part_thousands(digits: &str) -> bool {
    let (whole, rest) = digits.split_once('.').unwrap_or((digits, ""));
    let mut groups = whole.trim_start_matches(['-', '+']).split(',');
    let first = groups.next().unwrap_or_default();
    let parted = whole.contains(',');
    let begins = !parted || ((1..=3).contains(&first.len()) && !first.starts_with('0'));
    begins && groups.all(|group| group.len() == 3) && !rest.contains(',')
}

/// Whether what follows an `e` makes it an exponent.
fn exponent(rest: &str) -> bool {
    let digits = rest.trim_start_matches(['-', '+']);
    digits.starts_with(|c: char| c.is_ascii_digit())
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_text_loses_what_is_no_text_in_it() {
        let check = |bytes: &[u8], expect: Option<&str>| {
            assert_eq!(plain(bytes).as_deref(), expect, "{bytes:?}");
        };
        check(b"a\r\nb", Some("a\nb"));
        check(b"10%\r20%\rdone\n", Some("10%\n20%\ndone\n"));
        check(b"\x1b[1;32mok\x1b[0m \x1b]0;title\x07x\x08", Some("ok x"));
        check(b"\xef\xbb\xbfa", Some("a"));
        check(b"\xff\xfea\0\n\0", Some("a\n"));
        check(b"\xfe\xff\0a", Some("a"));
        check(b"\xff\xfea", None);
        check(b"a\0b", None);
        check(b"\xff\xff", None);
        check(b"cut\x1b[", Some("cut"));
    }

    #[test]
    fn a_number_ends_where_its_unit_begins() {
        let check = |word: &str, expect: Option<(f64, &str)>| {
            assert_eq!(number(word), expect, "{word}");
        };
        check("12.5MB/s", Some((12.5, "MB/s")));
        check("1,234.5", Some((1234.5, "")));
        check("12,345,678ops", Some((12_345_678.0, "ops")));
        check("0,934", None);
        check("1,5", None);
        check("1234,567", None);
        check("1.5,000", None);
        check("1e3x", Some((1000.0, "x")));
        check("1.5E-3", Some((0.0015, "")));
        check("-4ms", Some((-4.0, "ms")));
        check("5each", Some((5.0, "each")));
        check("3-4", Some((3.0, "-4")));
        check("x", None);
        check("", None);
        check("1.2.3", None);
        check("1e999", None);
        check("1e24", None);
    }

    #[test]
    fn a_line_loses_what_quotes_it() {
        let long = "x".repeat(LONGEST + 1);
        let text = format!("  > > a | b \n&gt;&gt;\tc\n\n{long}\n| d");
        let found: Vec<(usize, &str)> = lines(&text).collect();
        assert_eq!(found, [(1, "a | b"), (2, "c"), (3, ""), (4, ""), (5, "d")]);
    }

    #[test]
    fn a_key_is_read_whatever_its_blanks_and_colon() {
        let check = |line: &str, expect: Option<(&str, &str)>| {
            let found = keyed(line);
            let found = found.as_ref().map(|(key, value)| (key.as_str(), *value));
            assert_eq!(found, expect, "{line}");
        };
        check(
            "approx.  95 percentile:   1.10ms",
            Some(("approx. 95 percentile", "1.10ms")),
        );
        check("latency average = 1 ms", Some(("latency average", "1 ms")));
        check("Total\u{ff1a}3", Some(("total", "3")));
        check("none", None);
    }

    #[test]
    fn an_amount_is_neither_grouped_nor_negative() {
        let check = |text: &str, expect: Option<(f64, &str)>| {
            assert_eq!(amount(text), expect, "{text}");
        };
        check(" 12.5 ms x", Some((12.5, "ms x")));
        check("3855.80MB/sec)", Some((3855.8, "MB/sec)")));
        check("0,5 ms", None);
        check("-1", None);
        check("nan", None);
        check("1e999", None);
        check("", None);
    }
}

//! JSON objects of a program in a text that holds anything else too.

use serde_json::{Map, Value};

/// An object of JSON.
pub(crate) type Object = Map<String, Value>;

/// What was found in a text.
pub(crate) struct Objects {
    /// The objects wanted, each with the line where it begins, from 1.
    pub(crate) found: Vec<(usize, Object)>,
    /// What begins like one and is cut or broken, with what is wrong with it.
    pub(crate) broken: Vec<(usize, String)>,
    /// The text without those found, with as many lines as before.
    pub(crate) rest: String,
}

/// What is broken is read so many times the length of the text at most: a text of nothing but beginnings would else be
/// read from each of them to its end.
const EFFORT: usize = 8;

/// And so many times for each part of it: that many are broken at most.
const BROKEN: usize = 32;

/// Finds the objects that have `key`. Only what begins with one of `first` is looked at: the first key of a program's
/// objects, and those that come first where a tool has sorted them.
pub(crate) fn objects(text: &str, key: &str, first: &[&str]) -> Objects {
    let (mut found, mut broken, mut rest) = (Vec::new(), Vec::new(), String::new());
    let (mut done, mut line) = (0, 1);
    let mut effort = EFFORT * text.len();
    for (start, _) in text.match_indices('{') {
        let inside = text[start + 1..].trim_start().strip_prefix('"');
        let begins = |key: &str| {
            let after = inside.and_then(|inside| inside.strip_prefix(key));
            after.is_some_and(|after| after.starts_with('"'))
        };
        if start < done || effort == 0 || !first.iter().any(|key| begins(key)) {
            continue;
        }
        let mut stream = serde_json::Deserializer::from_str(&text[start..]).into_iter::<Object>();
        let object = stream.next();
        let end = start + stream.byte_offset();
        line += lines(&text[done..start]);
        rest.push_str(&text[done..start]);
        done = start;
        match object {
            Some(Ok(object)) if object.contains_key(key) => {
                let inside = lines(&text[start..end]);
                found.push((line, object));
                rest.push_str(&"\n".repeat(inside));
                line += inside;
                done = end;
            }
            Some(Err(error)) => {
                let spent = read_until(&text[start..], &error) + text.len() / BROKEN;
                effort = effort.saturating_sub(spent);
                if begins(key) {
                    broken.push((line, error.to_string()));
                }
            }
            _ => {}
        }
    }
    rest.push_str(&text[done..]);
    Objects {
        found,
        broken,
        rest,
    }
}

/// Where an error is.
fn read_until(text: &str, error: &serde_json::Error) -> usize {
    let lines = text
        .split_inclusive('\n')
        .take(error.line().saturating_sub(1));
    lines.map(str::len).sum::<usize>() + error.column()
}

fn lines(text: &str) -> usize {
    text.bytes().filter(|byte| *byte == b'\n').count()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn objects_are_found_between_other_things() {
        let check = |text: &str, found: &[usize], broken: &[usize], rest: &str| {
            let objects = objects(text, "v", &["v", "a"]);
            let at = |parts: Vec<usize>| parts;
            assert_eq!(at(objects.found.iter().map(|part| part.0).collect()), found);
            assert_eq!(
                at(objects.broken.iter().map(|part| part.0).collect()),
                broken
            );
            assert_eq!(objects.rest, rest);
        };
        check(
            "x\n{ \"v\":1,\n\"b\":2}y\n{\"v\":2}",
            &[2, 4],
            &[],
            "x\n\ny\n",
        );
        check("{\"a\":1,\"v\":1}", &[1], &[], "");
        check("{\"b\":{\"v\":1}}", &[1], &[], "{\"b\":}");
        check("{\"a\":1} {\"vv\":1}", &[], &[], "{\"a\":1} {\"vv\":1}");
        // What is cut does not hide what follows it.
        check("{\"v\":{\n{\"v\":1}", &[2], &[1], "{\"v\":{\n");
        check("{\"v\":[\n{\"v\":1}", &[2], &[1], "{\"v\":[\n");
        check("{\"v\":1e999}", &[], &[1], "{\"v\":1e999}");
    }

    #[test]
    fn a_text_of_nothing_but_beginnings_is_read_a_few_times() {
        let check = |beginning: &str| {
            let found = objects(&beginning.repeat(100_000), "v", &["v"]);
            assert!(found.found.is_empty());
            assert!(found.broken.len() <= EFFORT * BROKEN, "{beginning}");
        };
        check("{\"v\":");
        check("{\"v\":[\n");
        check("{\"v\":1,\"w\":\"");
        check("{\"v\" 1}");
    }
}

//! What help says of each command, and how wide pages are.

use crate::bed::{Bed, Done};

#[test]
fn help_says_what_is_assumed_and_what_must_be_given() {
    let bed = Bed::new();
    let has = |command: &str, words: &[&str]| {
        let help = bed.run(&[command, "--help"]).code(0);
        let one_line = help.out.split_whitespace().collect::<Vec<_>>().join(" ");
        for word in words {
            assert!(one_line.contains(word), "{command}: {word}: {one_line}");
        }
    };
    let run = [
        "[default: that of the profile",
        "without one, 9]",
        "for tests, 1]",
    ];
    has("run", &run);
    has(
        "run",
        &["The first ten lines of the page", "The same, as Markdown"],
    );
    has(
        "soak",
        &[
            "The test; required",
            "required, unless",
            "Take a sample every TIME",
        ],
    );
    for command in ["label", "rm", "export", "import", "clean"] {
        has(command, &["Who is trusted:"]);
    }
    has("run", &["What may be lost, and who is trusted:"]);
    let [here, there] = [&["fio", "--help"], &["help", "fio"]].map(|words| bed.run(words).code(0));
    assert_eq!(here.out, there.out);
    let widest = here.out.lines().map(str::len).max();
    assert!(widest <= Some(80), "{}", here.out);
}

#[test]
fn a_page_is_as_wide_as_columns_says() {
    let bed = Bed::new();
    bed.replay("one", "100,101,102");
    let widest = |columns: &str| {
        let mut show = bed.command(&["show", "--full"]);
        let done: Done = show.env("COLUMNS", columns).output().unwrap().into();
        done.code(0)
            .out
            .lines()
            .map(|line| line.chars().count())
            .max()
    };
    assert!(widest("60") <= Some(60) && widest("120") > Some(60));
    assert_eq!(widest("wide"), widest("120"));
}

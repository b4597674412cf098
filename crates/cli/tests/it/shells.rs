//! What shells are told, and real shells that ask by the script that they are given.

use crate::bed::{Bed, Done};

#[test]
fn a_shell_that_asks_is_told_tests_profiles_and_kept_runs() {
    let bed = Bed::new();
    let script = bed.run(&["completions", "bash"]).code(0);
    script.out_has(&["KURABE_COMPLETE", "complete "]);
    let asked = |words: &[&str]| -> Vec<String> {
        let mut command = bed.command(&[&["--", "kurabe"], words].concat());
        command.env("KURABE_COMPLETE", "bash");
        command.env("_CLAP_COMPLETE_INDEX", words.len().to_string());
        let done: Done = command.output().unwrap().into();
        let mut out = done.code(0).out.replace('\u{b}', "\n");
        out.push('\n');
        out.lines().map(|line| line.trim().to_owned()).collect()
    };
    let has = |words: &[&str], expect: &str| {
        let told = asked(words);
        assert!(
            told.iter().any(|word| word == expect),
            "{words:?}: {told:?}"
        );
    };
    has(&["show", ""], "latest");
    bed.replay("my-server", "1,2,3");
    let short = bed.listed()[0]["short"].as_str().unwrap().to_owned();
    has(&["run", "unix"], "unixbench");
    has(&["run", "--quiet", "os.p"], "os.pipe");
    has(&["soak", "storage.randr"], "storage.randread-4k");
    has(&["list", "params", "fs.copy-1"], "fs.copy-1024");
    has(&["compare", "latest", "my"], "my-server");
    has(&["run", "--resume", "my"], "my-server");
    has(&["rm", &short[..1]], &short);
    has(&["rm", "--y"], "--yes");
    assert!(
        asked(&["soak", "unix"])
            .iter()
            .all(|word| word != "unixbench")
    );
    // No shell asks: the program does what it is called for.
    bed.run(&["completions", "tcsh"]).code(2);
}

#[test]
fn a_label_that_a_shell_would_read_otherwise_is_not_proposed() {
    let bed = Bed::new();
    bed.replay("plain", "1,2,3");
    let asked = |shell: &str| {
        let mut command = bed.command(&["--", "kurabe", "rm", ""]);
        command.env("KURABE_COMPLETE", shell);
        command.env("_CLAP_COMPLETE_INDEX", "2");
        let done: Done = command.output().unwrap().into();
        done.code(0).out
    };
    let plain = asked("bash");
    assert!(plain.contains("plain"), "{plain:?}");
    let store = store::Store::open(&bed.store()).unwrap();
    let run = store.latest(1).unwrap().remove(0);
    for label in [
        "web$(touch x)",
        "server;touch x",
        "before the upgrade",
        "a`b`",
        "--yes",
        "a\u{202e}b",
        "\u{feff}a",
        "新",
    ] {
        // As an earlier program may have kept it.
        store.set_label(&run.id, Some(label)).unwrap();
        assert_eq!(asked("bash"), plain.replace("plain\n", ""), "{label:?}");
        let told = asked("fish");
        assert!(!told.contains(['\u{202e}', '\u{feff}']), "{told:?}");
    }
    let told = asked("fish");
    assert!(told.contains(&format!("{}\t新  ", run.short)), "{told:?}");
}

/// The bed's environment for another program, with the binary on its path.
fn shell(bed: &Bed, args: &[&str]) -> Done {
    let plain = bed.command(&[]);
    let binary = std::path::Path::new(plain.get_program());
    let path = std::env::var("PATH").unwrap_or_default();
    let path = format!("{}:{path}", binary.parent().unwrap().display());
    // A shell that waits for what does not come ends all the same.
    let mut command = crate::bed::program("timeout");
    command.arg("30").args(args).current_dir(bed.path());
    let set = plain.get_envs();
    command
        .env_clear()
        .envs(set.filter_map(|(name, value)| Some((name, value?))))
        .env("HOME", bed.path())
        .env("PATH", path);
    command.output().unwrap().into()
}

/// A store with a label, and the script of a shell in a file; `None` where the shell is not installed.
#[expect(clippy::print_stderr, reason = "a test that skips says so")]
fn with_script(name: &str, file: &str) -> Option<Bed> {
    if !crate::disks::is_installed(name) {
        eprintln!("skipped: there is no {name}");
        return None;
    }
    let bed = Bed::new();
    bed.replay("my-server", "1,2,3");
    bed.replay("it's \"my\" $(touch x)", "1,2,3");
    let script = bed.run(&["completions", name]).code(0).out;
    let file = bed.path().join(file);
    std::fs::create_dir_all(file.parent().unwrap()).unwrap();
    std::fs::write(file, script).unwrap();
    Some(bed)
}

#[test]
fn bash_completes_by_the_script() {
    let Some(bed) = with_script("bash", "script") else {
        return;
    };
    let ask = "source ./script; \
               COMP_WORDS=(kurabe show my); COMP_CWORD=2; COMP_LINE='kurabe show my'; \
               COMP_TYPE=9; COMP_KEY=9; _clap_complete_kurabe kurabe my show 2>/dev/null; \
               printf '%s\\n' \"${COMPREPLY[@]}\"";
    let done = shell(&bed, &["bash", "-c", ask]);
    assert_eq!(done.out.trim(), "my-server", "{done:?}");
}

#[test]
fn fish_completes_by_the_script_where_help_puts_it() {
    let Some(bed) = with_script("fish", ".config/fish/completions/kurabe.fish") else {
        return;
    };
    let said = |line: &str| shell(&bed, &["fish", "-c", &format!("complete -C'{line}'")]).out;
    let told = said("kurabe show my");
    assert!(
        told.starts_with("my-server\t") && told.lines().count() == 1,
        "{told}"
    );
    assert!(said("kurabe run unix").starts_with("unixbench\t"));
    // What no shell takes as one word stands beside the id.
    assert!(said("kurabe show ").contains("\tit's \"my\" $(touch x)  "));
    assert!(!bed.path().join("x").exists());
}

#[test]
fn zsh_completes_by_the_script_where_help_puts_it_at_the_first_tab() {
    let Some(bed) = with_script("zsh", ".zfunc/_kurabe") else {
        return;
    };
    let ask = r#"
zmodload zsh/zpty
zpty shell zsh -f -i
zpty -w shell "PS1=; fpath+=~/.zfunc; autoload -U compinit; compinit -u -D; print REA''DY"
zpty -r shell said '*READY*'
zpty -w -n shell $'kurabe show my\t'
zpty -r shell said '*my-server*'
print -r -- $said
"#;
    let done = shell(&bed, &["zsh", "-f", "-c", ask]).code(0);
    assert!(done.out.contains("kurabe show my-server"), "{done:?}");
    // Or in each session: `source <(kurabe completions zsh)`.
    let ask = "autoload -U compinit; compinit -u -D; source .zfunc/_kurabe; print $_comps[kurabe]";
    let done = shell(&bed, &["zsh", "-f", "-c", ask]).code(0);
    assert_eq!(
        done.out.trim(),
        "_clap_dynamic_completer_kurabe",
        "{done:?}"
    );
}

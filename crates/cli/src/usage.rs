//! What helps where clap refuses a line. It proposes options that are spelt alike, which for the words of other
//! programs is something else altogether: those that are known here have the option that does it as the tip. Where
//! something is missing, the tips are the examples of the command.

use crate::args::help;
use clap::builder::StyledStr;
use clap::error::{ContextKind, ContextValue, ErrorKind};

/// Words for how many copies run at once, as other benchmarks have them.
const COPIES: [&str; 5] = [
    "--threads",
    "--thread",
    "--concurrency",
    "--jobs",
    "--num-threads",
];

/// Words for how long to measure.
const TIMES: [&str; 5] = ["--budget", "--for", "--time", "--duration", "--runtime"];

/// What once let in clients of iperf3, which have no token.
const FOR_IPERF3: [&str; 3] = ["--iperf3-open", "--max-rate", "--max-time"];

/// The error with the tips that help, where there are any for this command.
pub(crate) fn amended(mut error: clap::Error, command: Option<&str>) -> clap::Error {
    let option = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(option)) => option.clone(),
        _ => String::new(),
    };
    let command = command.unwrap_or_default();
    let tips: Vec<StyledStr> = match error.kind() {
        ErrorKind::MissingRequiredArgument => help::of(command)
            .map(|(line, what)| format!("`{line}`: {what}").into())
            .collect(),
        ErrorKind::UnknownArgument => tip(command, &option).into_iter().map(Into::into).collect(),
        ErrorKind::InvalidValue if is_without_value(&error) => option
            .strip_suffix(" <TIME>")
            .map(|name| format!("a time has its unit: '{name} 90s' or '{name} 5m'").into())
            .into_iter()
            .collect(),
        _ => Vec::new(),
    };
    if tips.is_empty() {
        return error;
    }
    if error.kind() == ErrorKind::UnknownArgument {
        error.remove(ContextKind::SuggestedArg);
        // The line would name what was spelt alike as if it were asked for.
        error.remove(ContextKind::Usage);
    }
    error.insert(ContextKind::Suggested, ContextValue::StyledStrs(tips));
    error
}

/// Whether an option was left without its value.
fn is_without_value(error: &clap::Error) -> bool {
    let value = error.get(ContextKind::InvalidValue);
    matches!(value, Some(ContextValue::String(value)) if value.is_empty())
}

/// What to type in the place of this option.
fn tip(command: &str, option: &str) -> Option<&'static str> {
    match command {
        "run" | "duel" | "soak" if COPIES.contains(&option) => {
            Some("'--copies' says how many copies, or threads, run at once: '--copies 4'")
        }
        "run" | "duel" if TIMES.contains(&option) => {
            Some("'--budget' says for how long to measure: '--budget 2m'")
        }
        // The nearest option would have a token itself behind it, where everybody on the machine reads it.
        "run" | "duel" | "soak" | "net" if option == "--token" => Some(
            "a token comes from '--token-file FILE' or KURABE_TOKEN, and never from an argument",
        ),
        "net" if FOR_IPERF3.contains(&option) => Some(
            "'iperf3 -s' serves clients of iperf3; 'kurabe net serve' serves 'kurabe run net --peer HOST', which has \
             the token that it prints in KURABE_TOKEN or '--token-file FILE'",
        ),
        "soak" if TIMES.contains(&option) => {
            Some("'--for' says for how long to measure: '--for 2m'")
        }
        _ => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use clap::Parser;

    #[test]
    fn words_of_other_programs_are_answered_with_the_option_that_does_it() {
        let said = |line: &str| {
            let error = crate::args::Args::try_parse_from(line.split(' ')).unwrap_err();
            amended(error, line.split(' ').nth(1)).to_string()
        };
        for (line, has) in [
            ("kurabe run sysbench --threads 4", "'--copies'"),
            ("kurabe run --thread 4", "'--copies'"),
            ("kurabe duel os.pipe --jobs 4", "'--copies'"),
            ("kurabe soak os.pipe --budget 2m", "'--for'"),
            ("kurabe soak os.pipe --threads 4", "'--copies'"),
            ("kurabe run os.pipe --for 2m", "'--budget'"),
            ("kurabe run net --peer h --token 0123", "never from"),
            ("kurabe soak net.tcp --token=0123", "KURABE_TOKEN"),
            ("kurabe duel net.tcp --token 0123", "KURABE_TOKEN"),
            ("kurabe net serve --token 0123", "'--token-file FILE'"),
            ("kurabe net serve --iperf3-open", "'iperf3 -s'"),
            ("kurabe net serve --iperf3-open --port 0", "KURABE_TOKEN"),
            (
                "kurabe net serve --for 1m --iperf3-open",
                "'--token-file FILE'",
            ),
            (
                "kurabe net serve --max-rate 10G --iperf3-open",
                "'iperf3 -s'",
            ),
            (
                "kurabe net serve --max-time=5m",
                "'kurabe run net --peer HOST'",
            ),
        ] {
            let said = said(line);
            let tips: Vec<&str> = said.lines().filter(|line| line.contains("tip:")).collect();
            assert!(tips.len() == 1 && tips[0].contains(has), "{said}");
            assert!(
                !["--quiet", "--store", "similar", "0123"]
                    .iter()
                    .any(|word| said.contains(word)),
                "{said}"
            );
        }
        // What is missing is shown by examples, and clap says what it is.
        let label = said("kurabe label latest");
        for part in ["<NAME>", "tip: `kurabe label latest server-a`", "--none"] {
            assert!(label.contains(part), "{part}: {label}");
        }
        assert!(said("kurabe rm").contains("tip: `kurabe rm latest`"));
        let none = said("kurabe run os.pipe --budget");
        assert!(
            none.contains("tip: a time has its unit: '--budget 90s'"),
            "{none}"
        );
        // Everything else is clap's.
        let own = said("kurabe run --pases 3");
        assert!(own.contains("'--passes'") && own.contains("Usage"), "{own}");
    }
}

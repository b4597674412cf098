//! What is said of an option that there is not: clap proposes what is spelt alike, which for the words of other
//! programs is something else altogether. Those that are known here have the option that does it as the tip.

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

/// The error with the tip that helps, where there is one for this option of this command.
pub(crate) fn amended(mut error: clap::Error, command: Option<&str>) -> clap::Error {
    let option = match error.get(ContextKind::InvalidArg) {
        Some(ContextValue::String(option)) => option.clone(),
        _ => return error,
    };
    if error.kind() == ErrorKind::UnknownArgument
        && let Some(tip) = command.and_then(|command| tip(command, &option))
    {
        error.remove(ContextKind::SuggestedArg);
        // The line would name what was spelt alike as if it were asked for.
        error.remove(ContextKind::Usage);
        let tip = ContextValue::StyledStrs(vec![StyledStr::from(tip)]);
        error.insert(ContextKind::Suggested, tip);
    }
    error
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
        ] {
            let said = said(line);
            let tips: Vec<&str> = said.lines().filter(|line| line.contains("tip:")).collect();
            assert!(tips.len() == 1 && tips[0].contains(has), "{said}");
            assert!(
                !said.contains("--quiet") && !said.contains("--store"),
                "{said}"
            );
        }
        // Everything else is clap's.
        let own = said("kurabe run --pases 3");
        assert!(own.contains("'--passes'") && own.contains("Usage"), "{own}");
    }
}

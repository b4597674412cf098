//! A run as lists show it: what is known without reading its rounds.

use crate::document::in_document;
use crate::host::HostFacts;
use crate::plan::Duel;
use crate::record::End;
use crate::units::UnixNanos;
use schemars::JsonSchema;
use serde::{Deserialize, Serialize};

/// One run of a list.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, JsonSchema)]
pub struct RunLine {
    /// Unique and ordered by time.
    pub id: String,
    /// The end of it that means this run and nothing else, as short as it may be cut: `9f3c`.
    pub short: String,
    /// The name the user gave.
    pub label: Option<String>,
    /// What was rented; null where nobody says.
    pub offer: Option<String>,
    /// When it started.
    #[serde(serialize_with = "in_document::<_, String, _>")]
    #[schemars(with = "String")]
    pub started: UnixNanos,
    /// When it ended; `None` for a run that is going on or was killed.
    #[serde(skip)]
    pub finished: Option<UnixNanos>,
    /// How it ended.
    pub end: End,
    /// What the user asked for, such as `quick`.
    pub what: Vec<String>,
    /// How many cases were planned.
    pub cases: u32,
    /// How many rounds are kept.
    pub rounds: u32,
    /// How many of them failed.
    #[serde(rename = "failed_rounds")]
    pub failed: u32,
    /// Which side of which duel it is.
    pub duel: Option<Duel>,
    /// Where it was measured.
    pub machine: Machine,
    /// What was noted of it when it was over; `None` where it is not, or nothing was.
    #[serde(skip)]
    pub brief: Option<String>,
}

/// What lists say of the machine of a run; `None` where the kernel did not tell.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize, JsonSchema)]
pub struct Machine {
    /// Its name.
    pub hostname: Option<String>,
    /// The model of its processor.
    pub cpu: Option<String>,
    /// How many CPUs could be used.
    pub cpus: Option<u32>,
}

impl Machine {
    /// The machine in short.
    pub fn of(host: &HostFacts) -> Self {
        Self {
            hostname: host.hostname.known().cloned(),
            cpu: host.cpu.model.known().cloned(),
            cpus: host.limits.cpus_allowed.known().copied(),
        }
    }

    /// The name of a processor without what every one of them says: `Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz` is
    /// an `Intel Xeon Platinum 8481C`.
    pub fn processor(model: &str) -> String {
        let model = model.split(" @ ").next().unwrap_or_default();
        let plain = ["(R)", "(TM)", "(tm)"].iter();
        let plain = plain.fold(model.to_owned(), |text, mark| text.replace(mark, ""));
        let tells = |word: &&str| !["CPU", "Processor"].contains(word) && !word.ends_with("-Core");
        let words: Vec<&str> = plain.split_whitespace().filter(tells).collect();
        words.join(" ")
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_processor_is_told_without_what_every_name_has() {
        let check = |model: &str, expect: &str| assert_eq!(Machine::processor(model), expect);
        check("Intel(R) Xeon(R) CPU @ 2.20GHz", "Intel Xeon");
        check(
            "Intel(R) Xeon(R) Platinum 8481C CPU @ 2.70GHz",
            "Intel Xeon Platinum 8481C",
        );
        check("Neoverse-N1", "Neoverse-N1");
    }
}

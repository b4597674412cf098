//! Any bytes as what this program's own command line takes: sizes, times, values of `--set` of each kind, numbers of
//! copies, and profiles in TOML.

#![no_main]

use engine::profile::{Copies, Profile};
use libfuzzer_sys::fuzz_target;
use model::params;
use model::spec::{ParamDef, ParamKind};

const KINDS: [ParamKind; 6] = [
    ParamKind::Count { min: 1, max: 32_768 },
    ParamKind::Duration,
    ParamKind::Size,
    ParamKind::Choice(&["read", "write"]),
    ParamKind::Switch,
    ParamKind::Text,
];

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    let text = text.as_ref();
    let _ = text.parse::<Copies>();
    if let Err(error) = Profile::parse("own.toml", text) {
        assert!(!error.to_string().is_empty());
    }
    for kind in KINDS {
        let def = ParamDef {
            name: "any",
            kind,
            default: "",
            doc: "",
        };
        match params::parse(&def, text) {
            // What is kept of it is read back as the same.
            Ok(value) => {
                let again = params::parse(&def, &value.to_string());
                assert_eq!(again.ok().as_ref(), Some(&value), "{text}");
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
});

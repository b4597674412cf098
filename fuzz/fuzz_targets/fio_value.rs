//! Any bytes as the value of any option of fio (sizes, times, lists, ranges and the rest), in a job file and on the
//! command line.

#![no_main]

mod machine;

use dialects::fio::{self, options};
use libfuzzer_sys::fuzz_target;
use machine::Machine;

fuzz_target!(|data: &[u8]| {
    let Some((&[high, low], value)) = data.split_first_chunk() else {
        return;
    };
    let names: Vec<&str> = options::all().flat_map(options::OptionDef::names).collect();
    let name = names[usize::from(u16::from_be_bytes([high, low])) % names.len()];
    let value = String::from_utf8_lossy(value).replace(['\n', '\r'], " ");
    let file = Machine(format!("[global]\nsize=1m\n[a]\n{name}={value}\n"));
    let in_file = fio::parse_file("job.fio", &file);
    let arguments: Vec<String> = [
        "--size=1m".to_owned(),
        "--name=a".to_owned(),
        format!("--{name}={value}"),
    ]
    .into();
    let on_line = fio::parse(&arguments, &Machine(String::new()));
    for plan in [&in_file, &on_line] {
        match plan {
            Ok(plan) => {
                assert!(plan.jobs().count() <= fio::MAX_JOBS);
                // What is too much for the engine is refused by name, and what is not can be said again.
                if options::check_limits(plan).is_ok() {
                    assert!(!fio::show_command(plan).is_empty());
                }
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        }
    }
});

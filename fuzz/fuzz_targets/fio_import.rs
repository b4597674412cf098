//! Any bytes as an output of fio; what is read can be printed in every form.

#![no_main]

use dialects::fio::{import, output};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|data: &[u8]| {
    let text = String::from_utf8_lossy(data);
    for report in import::read(&text).unwrap_or_default() {
        let _ = output::json(&report, true);
        let _ = output::terse(&report, 5);
        let _ = output::text(&report, false);
    }
});

//! Devices and files that a run works on beside its own directory.

use super::host::{DevicePart, FactPart, device_part};
use model::named::Named;
use schemars::JsonSchema;
use serde::Serialize;

/// A device or file that a run works on beside its own directory.
#[derive(Debug, Serialize, JsonSchema)]
pub(super) struct NamedPart {
    /// Absolute; links are not followed.
    path: String,
    /// What it is.
    #[schemars(extend("enum" = ["device", "file"]))]
    kind: String,
    /// True where it stands in for the run's own test file; false where a single job names it.
    stands_in: bool,
    /// True where tests write to it.
    writes: bool,
    size_bytes: FactPart<u64>,
    /// From it, or from the file system that it lies on, down to the disk.
    devices: FactPart<Vec<DevicePart>>,
    /// A digest of the device's serial number, which tells one disk from another and nothing else.
    serial_digest: FactPart<String>,
}

pub(super) fn named_part(named: &Named) -> NamedPart {
    NamedPart {
        path: named.path.clone(),
        kind: named.kind.to_string(),
        stands_in: named.stands_in,
        writes: named.writes,
        size_bytes: FactPart::new(&named.size, |size| Some(size.0)),
        devices: FactPart::new(&named.devices, |devices| {
            Some(devices.iter().map(device_part).collect())
        }),
        serial_digest: FactPart::same(&named.serial),
    }
}

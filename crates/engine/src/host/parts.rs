//! Names of ARM cores: the kernel shows designer and part numbers of the main ID register, nothing else.
//!
//! The numbers are those of the `MIDR_EL1` register, from Arm's technical reference manuals and from the kernel's
//! `arch/arm64/include/asm/cputype.h`. Only cores that one meets in servers, and the small ones that people test on;
//! an unknown part is shown by its numbers.

use super::cpu::Info;

/// Designers.
const IMPLEMENTERS: [(u32, &str); 12] = [
    (0x41, "ARM"),
    (0x42, "Broadcom"),
    (0x43, "Cavium"),
    (0x46, "Fujitsu"),
    (0x48, "HiSilicon"),
    (0x4e, "NVIDIA"),
    (0x50, "APM"),
    (0x51, "Qualcomm"),
    (0x61, "Apple"),
    (0x6d, "Microsoft"),
    (0x70, "Phytium"),
    (0xc0, "Ampere"),
];

/// Designer, part, name.
const PARTS: [(u32, u32, &str); 54] = [
    (0x41, 0xd03, "Cortex-A53"),
    (0x41, 0xd04, "Cortex-A35"),
    (0x41, 0xd05, "Cortex-A55"),
    (0x41, 0xd07, "Cortex-A57"),
    (0x41, 0xd08, "Cortex-A72"),
    (0x41, 0xd09, "Cortex-A73"),
    (0x41, 0xd0a, "Cortex-A75"),
    (0x41, 0xd0b, "Cortex-A76"),
    (0x41, 0xd0c, "Neoverse-N1"),
    (0x41, 0xd0d, "Cortex-A77"),
    (0x41, 0xd0e, "Cortex-A76AE"),
    (0x41, 0xd40, "Neoverse-V1"),
    (0x41, 0xd41, "Cortex-A78"),
    (0x41, 0xd42, "Cortex-A78AE"),
    (0x41, 0xd44, "Cortex-X1"),
    (0x41, 0xd46, "Cortex-A510"),
    (0x41, 0xd47, "Cortex-A710"),
    (0x41, 0xd48, "Cortex-X2"),
    (0x41, 0xd49, "Neoverse-N2"),
    (0x41, 0xd4a, "Neoverse-E1"),
    (0x41, 0xd4b, "Cortex-A78C"),
    (0x41, 0xd4d, "Cortex-A715"),
    (0x41, 0xd4e, "Cortex-X3"),
    (0x41, 0xd4f, "Neoverse-V2"),
    (0x41, 0xd80, "Cortex-A520"),
    (0x41, 0xd81, "Cortex-A720"),
    (0x41, 0xd82, "Cortex-X4"),
    (0x41, 0xd83, "Neoverse-V3AE"),
    (0x41, 0xd84, "Neoverse-V3"),
    (0x41, 0xd85, "Cortex-X925"),
    (0x41, 0xd87, "Cortex-A725"),
    (0x41, 0xd8e, "Neoverse-N3"),
    (0x42, 0x516, "ThunderX2"),
    (0x43, 0x0a1, "ThunderX"),
    (0x43, 0x0af, "ThunderX2"),
    (0x43, 0x0b8, "ThunderX3"),
    (0x46, 0x001, "A64FX"),
    (0x46, 0x003, "MONAKA"),
    (0x48, 0xd01, "TaiShan-v110"),
    (0x48, 0xd02, "TaiShan-v120"),
    (0x4e, 0x004, "Carmel"),
    (0x4e, 0x010, "Olympus"),
    (0x50, 0x000, "X-Gene"),
    (0x51, 0x001, "Oryon"),
    (0x51, 0xc00, "Falkor"),
    (0x51, 0xc01, "Saphira"),
    (0x61, 0x022, "M1 Icestorm"),
    (0x61, 0x023, "M1 Firestorm"),
    (0x61, 0x032, "M2 Blizzard"),
    (0x61, 0x033, "M2 Avalanche"),
    (0x6d, 0xd49, "Azure Cobalt 100"),
    (0x70, 0x662, "FTC662"),
    (0xc0, 0xac3, "Ampere-1"),
    (0xc0, 0xac4, "Ampere-1A"),
];

/// The names of the distinct cores, in the order of their CPUs: `ARM Cortex-A55 + ARM Cortex-A76`. `None` where the
/// kernel shows no part numbers.
pub(super) fn names(info: &Info) -> Option<String> {
    let designers = info.values("CPU implementer");
    let mut names: Vec<String> = Vec::new();
    for (designer, part) in designers.zip(info.values("CPU part")) {
        let name = name(designer, part);
        if !names.contains(&name) {
            names.push(name);
        }
    }
    (!names.is_empty()).then(|| names.join(" + "))
}

fn name(designer: &str, part: &str) -> String {
    let by = hex(designer).and_then(|number| {
        IMPLEMENTERS
            .iter()
            .find(|(known, _)| *known == number)
            .map(|(_, name)| *name)
    });
    let core = hex(designer).zip(hex(part)).and_then(|number| {
        PARTS
            .iter()
            .find(|(by, part, _)| (*by, *part) == number)
            .map(|(_, _, name)| *name)
    });
    match (by, core) {
        (Some(by), Some(core)) if core.starts_with(by) => core.to_owned(),
        (Some(by), Some(core)) => format!("{by} {core}"),
        (Some(by), None) => format!("{by} part {part}"),
        (None, _) => format!("implementer {designer} part {part}"),
    }
}

fn hex(text: &str) -> Option<u32> {
    u32::from_str_radix(text.strip_prefix("0x")?, 16).ok()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn parts_get_their_names_and_unknown_ones_their_numbers() {
        assert_eq!(name("0x41", "0xd0c"), "ARM Neoverse-N1");
        assert_eq!(name("0x6d", "0xd49"), "Microsoft Azure Cobalt 100");
        assert_eq!(name("0xc0", "0xac4"), "Ampere-1A");
        assert_eq!(name("0x41", "0xfff"), "ARM part 0xfff");
        assert_eq!(name("0x99", "0xd0c"), "implementer 0x99 part 0xd0c");
        assert_eq!(name("nonsense", "?"), "implementer nonsense part ?");
    }

    #[test]
    fn the_tables_hold_no_number_twice_and_every_part_has_a_designer() {
        for (place, (by, part, name)) in PARTS.iter().enumerate() {
            let later = &PARTS[place + 1..];
            assert!(
                !later.iter().any(|other| (other.0, other.1) == (*by, *part)),
                "{name}"
            );
            assert!(IMPLEMENTERS.iter().any(|(known, _)| known == by), "{name}");
        }
    }
}

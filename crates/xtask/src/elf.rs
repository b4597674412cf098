//! The little of an ELF file that tells whether it needs anything at run time.
//!
//! A dynamically linked program names its loader in a segment of type `PT_INTERP`; a static one, position-independent
//! or not, has none. Layout: elf(5), and the System V ABI, chapter 5. Only 64-bit little-endian files are read,
//! which is what we build.

use anyhow::{Context, ensure};

/// `e_ident` of a 64-bit little-endian file.
const IDENT: &[u8] = b"\x7fELF\x02\x01";
const PT_INTERP: u32 = 3;

/// The program loader that the file asks for; `None` for a static program.
pub(crate) fn interpreter(file: &[u8]) -> anyhow::Result<Option<String>> {
    ensure!(
        file.starts_with(IDENT),
        "not a 64-bit little-endian ELF file"
    );
    let table = usize::try_from(u64::from_le_bytes(field(file, 0x20)?))?;
    let entry_size = usize::from(u16::from_le_bytes(field(file, 0x36)?));
    let entries = usize::from(u16::from_le_bytes(field(file, 0x38)?));
    for index in 0..entries {
        let entry = table
            .checked_add(index * entry_size)
            .context("program headers lie outside of the file")?;
        if u32::from_le_bytes(field(file, entry)?) == PT_INTERP {
            let offset = usize::try_from(u64::from_le_bytes(field(file, entry + 0x08)?))?;
            let size = usize::try_from(u64::from_le_bytes(field(file, entry + 0x20)?))?;
            let name = offset
                .checked_add(size)
                .and_then(|end| file.get(offset..end))
                .context("the interpreter's name lies outside of the file")?;
            let name = String::from_utf8_lossy(name);
            return Ok(Some(name.trim_end_matches('\0').to_owned()));
        }
    }
    Ok(None)
}

fn field<const N: usize>(file: &[u8], at: usize) -> anyhow::Result<[u8; N]> {
    let bytes = at
        .checked_add(N)
        .and_then(|end| file.get(at..end))
        .with_context(|| format!("the file ends before byte {at}"))?;
    Ok(bytes.try_into()?)
}

#[cfg(test)]
mod tests {
    use super::*;

    /// A file with one program header of type `kind` whose content is `name`.
    fn file(kind: u32, name: &[u8]) -> Vec<u8> {
        let mut file = vec![0; 0x40 + 0x38];
        file[..6].copy_from_slice(IDENT);
        file[0x20] = 0x40;
        file[0x36] = 0x38;
        file[0x38] = 1;
        file[0x40..0x44].copy_from_slice(&kind.to_le_bytes());
        file[0x48] = 0x78;
        file[0x60] = u8::try_from(name.len()).unwrap();
        file.extend_from_slice(name);
        file
    }

    #[test]
    fn a_loader_is_found_where_there_is_one() {
        let dynamic = file(PT_INTERP, b"/lib64/ld-linux-x86-64.so.2\0");
        assert_eq!(
            interpreter(&dynamic).unwrap().as_deref(),
            Some("/lib64/ld-linux-x86-64.so.2")
        );
        assert_eq!(interpreter(&file(1, b"code")).unwrap(), None);
    }

    #[test]
    fn files_that_are_cut_short_or_foreign_are_errors() {
        let dynamic = file(PT_INTERP, b"/lib/ld.so\0");
        for end in 0..dynamic.len() {
            assert!(interpreter(&dynamic[..end]).is_err(), "cut at {end}");
        }
        assert!(interpreter(b"#!/bin/sh\n").is_err());
    }

    #[test]
    fn this_test_is_itself_a_file_that_can_be_read() {
        let own = std::fs::read(std::env::current_exe().unwrap()).unwrap();
        let loader = interpreter(&own).unwrap();
        assert_eq!(loader.is_none(), cfg!(target_feature = "crt-static"));
    }
}

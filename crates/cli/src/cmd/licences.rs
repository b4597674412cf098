//! `kurabe licences`: under what terms this program may be handed on, and whose work is in it. The program carries all
//! of it, so that one file that was copied to a server is still complete.
//!
//! The texts of crates are generated (`cargo xtask gen`); those of C libraries are their authors' own, word for word.

use crate::exit::Exit;
use crate::new_run::binary;
use crate::output;
use packed::Packed;

/// The program's own.
const OWN: &str = include_str!("../../../../LICENSE-MIT");
/// What is linked in and is no crate, or asks for more words than its licence.
const OTHERS: &str = include_str!("../../licences/others.txt");
/// The C library, where it is inside.
const C_LIBRARY: &str = include_str!("../../licences/c_library.txt");
/// The crates, each licence once.
const CRATES: Packed = packed::carried!("crates.txt");
/// The notices of the parts of glibc, as Debian collects them for its package.
const GLIBC: Packed = packed::carried!("glibc.txt");
/// The licence of glibc.
const LGPL: Packed = packed::carried!("LGPL-2.1.txt");

const RULE: &str = "========================================================================";

pub(crate) fn run() -> anyhow::Result<Exit> {
    output::print(&page())?;
    Ok(Exit::Ok)
}

fn page() -> String {
    let binary = binary();
    let commit = binary.commit.unwrap_or_else(|| "not known".to_owned());
    let library = sys::c_library::linked();
    let head = format!(
        "kurabe {} for {} ({}), commit {commit}\n\n\
         It is licensed under the MIT licence, which follows, or the Apache licence 2.0, as you like.\n\
         Below it: the C library, other code, crates, and the licence of the C library.\n\n{OWN}",
        binary.version, binary.target, binary.build
    );
    let mut parts = vec![
        head,
        c_library(library, binary.linked_statically),
        OTHERS.to_owned(),
        format!(
            "CRATES\n\nThe code of these crates of others is in the program.\n\n{}",
            CRATES.text()
        ),
    ];
    if library.is_some() {
        parts.push(format!(
            "NOTICES OF THE GNU C LIBRARY, AS DEBIAN COLLECTS THEM\n\n{}",
            GLIBC.text()
        ));
        parts.push(LGPL.text());
    }
    let parts: Vec<&str> = parts.iter().map(|part| part.trim_end()).collect();
    parts.join(&format!("\n\n{RULE}\n\n")) + "\n"
}

/// What the licence of glibc asks for: its name and version, that it is in here, and how to put another in its place.
fn c_library(library: Option<&str>, program: bool) -> String {
    let Some(library) = library else {
        return "C LIBRARY\n\nNo GNU C library is linked statically into this build.".to_owned();
    };
    let helper = "one of the two small programs inside it that tests of process creation execute (`helper-static`)";
    let what = if program {
        format!("This program, and {helper}, are")
    } else {
        format!("Not this program, but {helper}, is")
    };
    C_LIBRARY
        .replace("{what}", &what)
        .replace("{library}", library)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_page_has_every_part_and_what_lgpl_asks_for_where_its_library_is_inside() {
        let page = page();
        for needle in [
            "Copyright (c) 2026 the kurabe authors",
            "SQLite",
            "Zstandard",
            "GCC Runtime Library Exception",
            "blake3 1.8.7",
            "Copyright (c) 2016 Amanieu d'Antras",
        ] {
            assert!(page.contains(needle), "{needle}");
        }
        let lesser = page.contains("GNU LESSER GENERAL PUBLIC LICENSE");
        assert_eq!(lesser, sys::c_library::linked().is_some());
    }

    #[test]
    fn the_licence_of_the_c_library_is_the_one_that_the_fsf_published() {
        // <https://www.gnu.org/licenses/old-licenses/lgpl-2.1.txt>, as Debian has it in common-licenses.
        let digest = model::digest::Digest::EMPTY.bytes(&LGPL.bytes());
        assert_eq!(digest.0, 0x0f3f_d96e_c19d_27dc);
    }

    #[test]
    fn a_library_that_is_linked_in_is_named_with_its_version_and_how_to_exchange_it() {
        let name = "GNU C Library (Debian GLIBC 2.36-9) stable release version 2.36.";
        for (program, needle) in [(true, "This program, and"), (false, "Not this program")] {
            let text = c_library(Some(name), program);
            for needle in [name, needle, "cargo xtask dist", "complete source"] {
                assert!(text.contains(needle), "{needle}");
            }
        }
        assert!(c_library(None, true).contains("No GNU C library"));
    }
}

//! Which pages a region obtained, and whether it kept them: part of the set-up of a figure, and a reason for none.
//!
//! Memory that is swapped out, and memory without the huge pages that were asked for, is not measured.

use engine::workload::WorkError;
use model::num::{approx, count};
use sys::memory::{HUGE_PAGE, Pages, Paging};
use sys::tree::{Tree, TreeError};

/// The share of a region below which huge pages were not obtained: what is left over at an end may be small ones.
const HUGE_SHARE_MIN: f64 = 0.9;

/// The page metrics of memory that is paged so, or why that is not what was asked for.
pub(super) fn page_values(
    paging: Result<Paging, TreeError>,
    asked: Pages,
) -> Result<[(String, f64); 2], WorkError> {
    let paging = paging.map_err(|error| WorkError::Failed(error.to_string()))?;
    values_of(paging, asked, huge_page_bytes(&Tree::real()))
}

/// The size of a transparent huge page: `/proc/self/smaps` counts the bytes that are in them and has no size of them.
fn huge_page_bytes(tree: &Tree) -> f64 {
    const FILE: &str = "/sys/kernel/mm/transparent_hugepage/hpage_pmd_size";
    // Kernels before 4.10 do not tell.
    tree.read_number(FILE).map_or(count(HUGE_PAGE), approx)
}

fn values_of(
    paging: Paging,
    asked: Pages,
    huge_bytes: f64,
) -> Result<[(String, f64); 2], WorkError> {
    if paging.swapped_bytes > 0 {
        return Err(WorkError::Failed(format!(
            "keep the memory: {} bytes of it were swapped out",
            paging.swapped_bytes
        )));
    }
    let share = paging.huge_share().unwrap_or(0.0).min(1.0);
    if asked == Pages::Huge && share < HUGE_SHARE_MIN {
        return Err(WorkError::Unsupported(format!(
            "huge pages: {:.0} % of the memory obtained them\nhint: --set TEST.pages=usual measures with what there is",
            share * 100.0
        )));
    }
    let size = if share >= 0.5 {
        huge_bytes
    } else {
        approx(paging.page_bytes)
    };
    Ok([
        ("huge_page_share".to_owned(), share),
        ("page_bytes".to_owned(), size),
    ])
}

#[cfg(test)]
mod tests {
    use super::super::map;
    use super::*;

    /// What is said of a region of 100 pages of 4 KiB of which so many bytes are in huge pages of 4 MiB.
    fn check(huge: u64, swapped: u64, asked: Pages, expected: Result<(f64, f64), (bool, &str)>) {
        let paging = Paging {
            page_bytes: 4096,
            resident_bytes: 400 << 10,
            huge_bytes: huge,
            swapped_bytes: swapped,
        };
        let found = values_of(paging, asked, 4_194_304.0);
        let object = format!("{paging:?} {asked:?}: {found:?}");
        match (found, expected) {
            (Ok([share, size]), Ok(expected)) => {
                assert_eq!(
                    (share.0.as_str(), size.0.as_str()),
                    ("huge_page_share", "page_bytes")
                );
                assert!((share.1 - expected.0).abs() < 1e-9, "{object}");
                assert!((size.1 - expected.1).abs() < 1e-9, "{object}");
            }
            (Err(error), Err((unsupported, words))) => {
                let kind = matches!(error, WorkError::Unsupported(_));
                assert_eq!(kind, unsupported, "{object}");
                assert!(error.to_string().contains(words), "{object}");
            }
            _ => panic!("{object}"),
        }
    }

    #[test]
    fn what_was_obtained_is_told_with_its_size_and_what_was_not_is_refused() {
        let percent = |share: u64| share * (4 << 10);
        check(0, 0, Pages::Small, Ok((0.0, 4096.0)));
        check(0, 0, Pages::Usual, Ok((0.0, 4096.0)));
        check(percent(95), 0, Pages::Huge, Ok((0.95, 4_194_304.0)));
        check(percent(95), 0, Pages::Usual, Ok((0.95, 4_194_304.0)));
        check(percent(50), 0, Pages::Usual, Ok((0.5, 4_194_304.0)));
        check(percent(49), 0, Pages::Usual, Ok((0.49, 4096.0)));
        check(
            percent(50),
            0,
            Pages::Huge,
            Err((true, "50 % of the memory")),
        );
        check(
            percent(89),
            0,
            Pages::Huge,
            Err((true, "89 % of the memory")),
        );
        // What was swapped out is a failure, whatever else is said.
        let swapped = "4096 bytes of it were swapped out";
        check(0, 4096, Pages::Small, Err((false, swapped)));
        check(percent(95), 4096, Pages::Huge, Err((false, swapped)));
        check(percent(10), 4096, Pages::Huge, Err((false, swapped)));
    }

    #[test]
    fn the_size_of_huge_pages_is_the_kernels() {
        let root = tempfile::tempdir().unwrap();
        let tree = Tree::at(root.path());
        assert_eq!(huge_page_bytes(&tree).to_bits(), 2_097_152.0_f64.to_bits());
        let dir = root.path().join("sys/kernel/mm/transparent_hugepage");
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("hpage_pmd_size"), "536870912\n").unwrap();
        let found = huge_page_bytes(&tree);
        assert_eq!(found.to_bits(), 536_870_912.0_f64.to_bits());
    }

    #[test]
    fn pages_that_were_not_obtained_are_said_and_not_measured() {
        let mut region = map("a region", 4 << 20, Pages::Small).unwrap();
        region.touch();
        let values = page_values(region.paging(), Pages::Small).unwrap();
        assert!(
            values[0].1.abs() < f64::EPSILON && values[1].1 < 2e6,
            "{values:?}"
        );
        let error = page_values(region.paging(), Pages::Huge)
            .unwrap_err()
            .to_string();
        assert!(error.contains("0 % of the memory obtained them"), "{error}");
    }
}

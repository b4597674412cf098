//! The profiles that come with the program.

use engine::profile::{Profile, ProfileError};

/// Name and text of every profile, by name.
const TEXTS: &[(&str, &str)] = &[
    ("mbw", include_str!("mbw.toml")),
    ("memory", include_str!("memory.toml")),
    ("quick", include_str!("quick.toml")),
    ("storage", include_str!("storage.toml")),
    ("sysbench", include_str!("sysbench.toml")),
    ("unixbench", include_str!("unixbench.toml")),
];

/// Every profile that comes with the program.
pub fn all() -> Result<Vec<Profile>, ProfileError> {
    TEXTS
        .iter()
        .map(|(name, text)| Profile::parse(name, text))
        .collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use engine::resolve::Catalog;

    #[test]
    fn every_profile_is_read_and_names_only_tests_that_exist() {
        let profiles = all().unwrap();
        let names = Catalog {
            workloads: crate::ALL,
            profiles: &profiles,
        }
        .test_names();
        for profile in &profiles {
            for test in &profile.tests {
                let (name, _) = engine::resolve::split_copies(test);
                assert!(names.contains(&name), "{}: {test}", profile.name);
            }
        }
    }
}

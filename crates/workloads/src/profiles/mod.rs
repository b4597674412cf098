//! The profiles that come with the program.

use engine::profile::{Profile, ProfileError};

/// Name and text of every profile, by name.
const TEXTS: &[(&str, &str)] = &[
    ("cpu", include_str!("cpu.toml")),
    ("mbw", include_str!("mbw.toml")),
    ("memory", include_str!("memory.toml")),
    ("quick", include_str!("quick.toml")),
    ("scaling", include_str!("scaling.toml")),
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
    use engine::resolve::{Catalog, Request, resolve};
    use model::host::{Fact, HostFacts};

    /// A machine with so many CPUs, a quota, and threads per core.
    fn host(cpus: u32, quota: Option<f64>, threads_per_core: u32) -> HostFacts {
        let mut host = HostFacts::default();
        host.limits.cpus_allowed = Fact::Known(cpus);
        host.limits.cpu_quota = Fact::Known(quota);
        host.cpu.online = Fact::Known(cpus);
        host.cpu.threads_per_core = Fact::Known(threads_per_core);
        host.cpu.cores = Fact::Known(cpus.div_ceil(threads_per_core));
        host
    }

    #[test]
    fn the_scaling_profile_fits_every_machine() {
        let profiles = all().unwrap();
        let check = |host: &HostFacts, expected: &[u32]| {
            let request = Request {
                what: vec!["scaling".to_owned()],
                ..Request::default()
            };
            let catalog = Catalog {
                workloads: crate::ALL,
                profiles: &profiles,
            };
            let plan = resolve(&request, catalog, host).unwrap();
            let copies: Vec<u32> = plan
                .cases
                .iter()
                .filter(|case| case.id.test == "cpu.sha256")
                .map(|case| case.id.copies)
                .collect();
            assert_eq!(copies, expected);
            let budget = plan.budget.unwrap();
            assert!(engine::budget::expected(&plan) <= budget);
        };
        check(&host(1, None, 1), &[1, 2]);
        check(&host(2, None, 2), &[1, 2, 4]);
        check(&host(3, None, 1), &[1, 2, 3, 4]);
        check(&host(8, None, 1), &[1, 2, 4, 8, 16]);
        check(&host(8, Some(1.5), 1), &[1, 2, 4]);
        check(&host(96, None, 2), &[1, 2, 4, 8, 16, 32, 48, 64, 96, 128]);
    }

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

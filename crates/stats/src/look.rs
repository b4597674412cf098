//! What of a look before the first round will disturb the rounds, or must be quoted with their figures.
//!
//! It is judged by the thresholds of rounds, because it is the same noise. What the kernel does not tell is not seen.

use crate::noise::{held_back, stolen, used_by_others, waited_for_memory};
use model::host::HostFacts;
use model::look::{Busy, Look};
use model::num::approx;
use model::record::Run;
use model::units::{Bytes, Nanos};
use schemars::JsonSchema;
use serde::Serialize;
use std::mem::discriminant;

/// The kernel counts CPU time in hundredths of a second: what makes fewer than three of them in a look is not told.
pub const COUNTED_MIN: Nanos = Nanos::from_millis(30);

/// The share of all memory, or of what limits allow, below which what is left of it is called too little: the page
/// cache is then given up for whatever asks for memory.
pub const MEMORY_LEFT_MIN: f64 = 0.1;

/// Frequency governors that save power whatever is asked for. `powersave` of a driver that chooses the rate by itself
/// does not ([`DRIVERS_THAT_CHOOSE`]). Source: `admin-guide/pm/cpufreq.rst`.
pub const SAVING_GOVERNORS: [&str; 2] = ["powersave", "conservative"];

/// Drivers whose `powersave` is no fixed rate but their own choice by load. Source: `admin-guide/pm/intel_pstate.rst`
/// and `amd-pstate.rst`, active mode.
pub const DRIVERS_THAT_CHOOSE: [&str; 2] = ["intel_pstate", "amd-pstate-epp"];

/// Something that was seen before the first round.
#[derive(Clone, Debug, PartialEq, Serialize, JsonSchema)]
#[serde(tag = "kind", rename_all = "snake_case")]
pub enum Seen {
    /// Other programs used more than 5 % of a CPU.
    Others {
        /// All of them together, as a share of one CPU.
        cpu_share: f64,
        /// The busiest of them.
        programs: Vec<Busy>,
    },
    /// Some task waited for memory for more than 1 % of the time.
    MemoryPressure {
        /// The share of the time.
        wait_share: f64,
    },
    /// Less than a tenth of the memory was left.
    LittleMemory {
        /// What was left.
        left_bytes: Bytes,
    },
    /// There is less room than the files take that the run keeps.
    LittleSpace {
        /// What they take.
        needed_bytes: Bytes,
        /// What may be taken of the free space.
        room_bytes: Bytes,
    },
    /// A CPU quota allows less than the CPUs that are there.
    Quota {
        /// So many CPUs; null where only what it held back was seen.
        cpus: Option<f64>,
    },
    /// The frequency governor saves power.
    Governor {
        /// Its name.
        name: String,
    },
    /// The host took more than 2 % of the CPU time that was asked for.
    Steal {
        /// The share of that time.
        share: f64,
    },
}

impl Seen {
    /// Whether it comes from inside this machine and passes by itself, so that waiting for it makes sense. Steal is
    /// what one rents: to wait for a better moment would measure another server.
    pub const fn passes(&self) -> bool {
        matches!(self, Self::Others { .. } | Self::MemoryPressure { .. })
    }
}

/// What was seen before `run` and before the parts with which it went on, each kind once: where it was seen first.
pub fn of_run(run: &Run) -> Vec<Seen> {
    let mut all: Vec<Seen> = Vec::new();
    for seen in run.meta.looks.iter().flat_map(|look| seen(look, &run.host)) {
        if all
            .iter()
            .all(|other| discriminant(other) != discriminant(&seen))
        {
            all.push(seen);
        }
    }
    all
}

/// What `look` saw on this machine: first what somebody on it can do something about.
pub fn seen(look: &Look, host: &HostFacts) -> Vec<Seen> {
    [
        others(look),
        pressure(look),
        memory(look, host),
        space(look),
        quota(look, host),
        governor(host),
        steal(look),
    ]
    .into_iter()
    .flatten()
    .collect()
}

/// Whether a share of the look, or of a part of it, is more than the counters' own grain.
fn counted(look: &Look, share: f64) -> bool {
    share * approx(look.took.0) >= approx(COUNTED_MIN.0)
}

fn others(look: &Look) -> Option<Seen> {
    let cpu_share = look.noise.foreign_cpu_share?;
    // The busiest is told also where many shared it.
    let programs = look.busy.iter().enumerate();
    let programs = programs.filter(|(i, busy)| *i == 0 || counted(look, busy.cpu_share));
    (used_by_others(&look.noise)? && counted(look, cpu_share)).then(|| Seen::Others {
        cpu_share,
        programs: programs.map(|(_, busy)| busy.clone()).collect(),
    })
}

fn pressure(look: &Look) -> Option<Seen> {
    let wait_share = look.noise.psi_memory_share?;
    waited_for_memory(&look.noise)?.then_some(Seen::MemoryPressure { wait_share })
}

fn memory(look: &Look, host: &HostFacts) -> Option<Seen> {
    let left_bytes = look.memory_left?;
    let limit = host.limits.memory.known().copied().flatten();
    let total = host.memory.total.known().copied();
    let all = limit.into_iter().chain(total).min()?;
    let is_little = approx(left_bytes.0) < MEMORY_LEFT_MIN * approx(all.0);
    is_little.then_some(Seen::LittleMemory { left_bytes })
}

fn space(look: &Look) -> Option<Seen> {
    let space = look.space?;
    (space.needed > space.room).then_some(Seen::LittleSpace {
        needed_bytes: space.needed,
        room_bytes: space.room,
    })
}

fn quota(look: &Look, host: &HostFacts) -> Option<Seen> {
    let cpus = host.limits.cpu_quota.known().copied().flatten();
    let allowed = host.limits.cpus_allowed.known().copied();
    let is_less = cpus
        .zip(allowed)
        .is_some_and(|(quota, cpus)| quota < f64::from(cpus));
    let held = held_back(&look.noise) == Some(true);
    (is_less || held).then_some(Seen::Quota { cpus })
}

fn governor(host: &HostFacts) -> Option<Seen> {
    let name = host.cpu.governor.known()?;
    let driver = host.cpu.frequency_driver.known();
    let chooses = driver.is_some_and(|driver| DRIVERS_THAT_CHOOSE.contains(&driver.as_str()));
    (SAVING_GOVERNORS.contains(&name.as_str()) && !chooses)
        .then(|| Seen::Governor { name: name.clone() })
}

fn steal(look: &Look) -> Option<Seen> {
    let share = look.noise.steal_share?;
    // A third of the look asks for a CPU.
    (stolen(&look.noise)? && counted(look, share / 3.0)).then_some(Seen::Steal { share })
}

#[cfg(test)]
mod tests {
    use super::*;
    use model::host::Fact;
    use model::look::Space;
    use model::noise::Noise;

    fn look(noise: Noise) -> Look {
        Look {
            took: Nanos::from_secs(3),
            noise,
            memory_left: Some(Bytes(6 << 30)),
            busy: vec![Busy {
                name: "backup".to_owned(),
                cpu_share: 0.3,
            }],
            ..Look::default()
        }
    }

    fn host() -> HostFacts {
        let mut host = HostFacts::default();
        host.memory.total = Fact::Known(Bytes(8 << 30));
        host.limits.cpus_allowed = Fact::Known(2);
        host.limits.cpu_quota = Fact::Known(None);
        host
    }

    fn quiet() -> Noise {
        Noise {
            steal_share: Some(0.02),
            throttled_share: Some(0.01),
            foreign_cpu_share: Some(0.05),
            psi_memory_share: Some(0.01),
            ..Noise::default()
        }
    }

    #[test]
    fn a_quiet_machine_and_one_that_tells_nothing_are_told_nothing_of() {
        assert_eq!(seen(&look(quiet()), &host()), []);
        assert_eq!(seen(&look(Noise::default()), &HostFacts::default()), []);
        assert_eq!(seen(&Look::default(), &host()), []);
    }

    #[test]
    fn each_threshold_is_that_of_rounds() {
        let check = |noise, expected: Seen| assert_eq!(seen(&look(noise), &host()), [expected]);
        check(
            Noise {
                foreign_cpu_share: Some(0.051),
                ..quiet()
            },
            Seen::Others {
                cpu_share: 0.051,
                programs: look(quiet()).busy,
            },
        );
        check(
            Noise {
                psi_memory_share: Some(0.011),
                ..quiet()
            },
            Seen::MemoryPressure { wait_share: 0.011 },
        );
        check(
            Noise {
                throttled_share: Some(0.011),
                ..quiet()
            },
            Seen::Quota { cpus: None },
        );
        check(
            Noise {
                steal_share: Some(0.04),
                ..quiet()
            },
            Seen::Steal { share: 0.04 },
        );
    }

    #[test]
    fn what_is_less_than_the_kernel_counts_is_not_told() {
        let check = |took, foreign, steal, expected: usize| {
            let noise = Noise {
                foreign_cpu_share: Some(foreign),
                steal_share: Some(steal),
                ..quiet()
            };
            let look = Look {
                took: Nanos::from_millis(took),
                ..look(noise)
            };
            assert_eq!(
                seen(&look, &host()).len(),
                expected,
                "{took} {foreign} {steal}"
            );
        };
        // One hundredth of a second of 100 ms, and of a third of them.
        check(100, 0.1, 0.3, 0);
        check(100, 0.31, 0.3, 1);
        check(100, 0.1, 0.91, 1);
        check(3000, 0.06, 0.031, 2);
    }

    #[test]
    fn memory_and_space_are_held_against_what_there_is() {
        let left = |bytes| Look {
            memory_left: Some(Bytes(bytes)),
            ..look(quiet())
        };
        let mut host = host();
        assert_eq!(seen(&left((8 << 30) / 10 + 1), &host), []);
        let left_bytes = Bytes((8 << 30) / 10 - 1);
        assert_eq!(
            seen(&left(left_bytes.0), &host),
            [Seen::LittleMemory { left_bytes }]
        );
        // Of a limit as much is plenty.
        host.limits.memory = Fact::Known(Some(Bytes(1 << 30)));
        assert_eq!(seen(&left(left_bytes.0), &host), []);
        let space = |needed, room| Look {
            space: Some(Space {
                needed: Bytes(needed),
                room: Bytes(room),
            }),
            ..look(quiet())
        };
        assert_eq!(seen(&space(5, 5), &host), []);
        let expected = Seen::LittleSpace {
            needed_bytes: Bytes(6),
            room_bytes: Bytes(5),
        };
        assert_eq!(seen(&space(6, 5), &host), [expected]);
    }

    #[test]
    fn a_quota_of_all_cpus_is_none_and_a_governor_that_chooses_does_not_save() {
        let with = |quota, governor: &str, driver: &str| {
            let mut host = host();
            host.limits.cpu_quota = Fact::Known(Some(quota));
            host.cpu.governor = Fact::Known(governor.to_owned());
            host.cpu.frequency_driver = Fact::Known(driver.to_owned());
            seen(&look(quiet()), &host)
        };
        assert_eq!(with(2.0, "performance", "acpi-cpufreq"), []);
        assert_eq!(with(2.0, "powersave", "intel_pstate"), []);
        let quota = Seen::Quota { cpus: Some(1.5) };
        let governor = Seen::Governor {
            name: "powersave".to_owned(),
        };
        assert_eq!(with(1.5, "powersave", "acpi-cpufreq"), [quota, governor]);
    }

    #[test]
    fn only_what_passes_inside_the_machine_is_waited_for() {
        let others = Seen::Others {
            cpu_share: 1.0,
            programs: Vec::new(),
        };
        assert!(others.passes() && Seen::MemoryPressure { wait_share: 0.5 }.passes());
        assert!(!Seen::Steal { share: 0.5 }.passes() && !Seen::Quota { cpus: None }.passes());
    }

    #[test]
    fn a_run_that_went_on_tells_each_kind_once() {
        let mut run = crate::fixture::run(&[("x.a@1", vec![1.0; 10])]);
        run.host = host();
        let busy = |share| {
            look(Noise {
                foreign_cpu_share: Some(share),
                ..quiet()
            })
        };
        run.meta.looks = vec![look(quiet()), busy(0.5), busy(0.9)];
        let [Seen::Others { cpu_share, .. }] = of_run(&run)[..] else {
            panic!("{:?}", of_run(&run));
        };
        assert!((cpu_share - 0.5).abs() < 1e-12);
    }
}

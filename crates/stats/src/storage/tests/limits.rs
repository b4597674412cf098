//! What limited a case, and what its workload noted.

use super::*;
use crate::noise::Usual;
use crate::warnings;
use model::host::{BlockDevice, Fact, IoThrottle};
use model::limit::Limit;
use model::named::{Named, NamedKind};
use model::spec::Nature;
use model::warning::Warning;

fn limits(run: &Run) -> Vec<Warning> {
    let rounds = RunRounds::of(run);
    warnings::of_case(&rounds.cases()[0], &rounds, &Usual::default())
}

#[test]
fn a_busy_cpu_is_said() {
    let with_cpu = |busy: f64, overrides: &[(&str, &str)]| {
        let mut run = run(&[1e4; 6], "reads", overrides);
        each(&mut run, |_, measured| {
            measured.copies[0].system = Nanos(model::num::round_to_u64(2e9 * busy));
        });
        limits(&run)
    };
    let limit = |one_at_a_time| {
        vec![Warning::Limited(Limit::Cpu {
            share: 0.8,
            copies: 1,
            one_at_a_time,
        })]
    };
    assert_eq!(with_cpu(0.8, &[]), limit(true));
    assert_eq!(with_cpu(0.8, &[("depth", "32")]), limit(false));
    assert_eq!(with_cpu(0.69, &[("depth", "32")]), []);
}

#[test]
fn many_copies_are_held_against_the_cpus_there_are() {
    let mut run = run(&[1e4; 6], "reads", &[]);
    run.plan.cases[0].id.copies = 64;
    let id = run.plan.cases[0].id.clone();
    for round in &mut run.rounds {
        round.case = id.clone();
        let measured = done_mut(&mut round.outcome);
        let copy = model::record::CopyRecord {
            user: Nanos(50_000_000),
            ..measured.copies[0].clone()
        };
        measured.copies = vec![copy; 64];
    }
    // 64 times 50 ms in 2 s on 2 CPUs.
    let found = limits(&run);
    assert!(
        matches!(found[..], [Warning::Limited(Limit::Cpu { share, copies: 64, one_at_a_time: false })]
            if (share - 0.8).abs() < 1e-9),
        "{found:?}"
    );
}

#[test]
fn caches_idle_devices_and_lateness_are_said() {
    let with = |quantity: &str, value: f64, overrides: &[(&str, &str)]| {
        let mut run = run(&[1e4; 6], "reads", overrides);
        each(&mut run, |_, measured| {
            measured.values.insert(quantity.to_owned(), value);
        });
        limits(&run)
    };
    let cached = |share, direct| vec![Warning::Limited(Limit::Cached { share, direct })];
    assert_eq!(with("cached_share", 0.02, &[]), cached(0.02, true));
    assert_eq!(
        with("cached_share", 0.02, &[("direct", "no")]),
        cached(0.02, false)
    );
    assert_eq!(with("cached_share", 0.009, &[]), []);
    assert_eq!(
        with("cached_share", 0.02, &[("depth", "500")]),
        [],
        "those under way at the start"
    );
    let busy = "device_busy_share";
    let idle = [Warning::Limited(Limit::DeviceIdle { busy_share: 0.5 })];
    assert_eq!(with(busy, 0.5, &[("depth", "32")]), idle);
    assert_eq!(with(busy, 0.5, &[]), [], "one at a time waits for nothing");
    assert_eq!(
        with(busy, 0.5, &[("depth", "32"), ("paced", "")]),
        [],
        "nor does a rate"
    );
    assert_eq!(with(busy, 0.7, &[("depth", "32")]), []);

    let late = |late: u64| {
        let mut run = run(&[1e4; 6], "reads", &[]);
        each(&mut run, |_, measured| {
            measured
                .latencies
                .insert("late".to_owned(), vec![(late, 10)]);
            measured
                .latencies
                .insert("read_lat".to_owned(), vec![(100_000, 10)]);
            measured
                .latencies
                .insert("read_clat".to_owned(), vec![(10, 10)]);
        });
        limits(&run)
    };
    assert_eq!(late(6_000), [Warning::Limited(Limit::Late { share: 0.06 })]);
    // Whatever it is about.
    let mut system = run(&[1e4; 6], "reads", &[]);
    system.plan.cases[0].nature = Nature::System;
    each(&mut system, |_, measured| {
        let lat = [("late", 6_000), ("lat", 100_000)];
        measured.latencies = lat
            .map(|(name, ns)| (name.to_owned(), vec![(ns, 10)]))
            .into();
    });
    assert_eq!(
        limits(&system),
        [Warning::Limited(Limit::Late { share: 0.06 })]
    );
    assert_eq!(late(5_000), []);
}

#[test]
fn notes_stand_at_their_case_once() {
    let mut run = run(&[1e4; 6], "reads", &[]);
    each(&mut run, |i, measured| {
        measured.notes = vec!["io_uring does not work here: ENOSYS".to_owned()];
        if i > 2 {
            measured.notes.push("another".to_owned());
        }
    });
    let other = |text: &str| Warning::Other {
        what: text.to_owned(),
    };
    assert_eq!(
        limits(&run),
        [
            other("io_uring does not work here: ENOSYS"),
            other("another")
        ]
    );
}

#[test]
fn throttled_and_buffered_devices_are_said_of_the_cases_that_work_on_them() {
    let throttle = IoThrottle {
        reads_per_s: Some(300),
        ..IoThrottle::default()
    };
    let device = |name: &str, throttle, buffered| BlockDevice {
        name: name.to_owned(),
        kind: "disk".to_owned(),
        size: Fact::default(),
        scheduler: Fact::default(),
        rotational: Fact::default(),
        model: Fact::default(),
        throttle: Fact::Known(throttle),
        buffered: Fact::Known(buffered),
    };
    let named = |stands_in, device| Named {
        path: "/dev/x".to_owned(),
        kind: NamedKind::Device,
        stands_in,
        writes: false,
        size: Fact::default(),
        devices: Fact::Known(vec![device]),
        serial: Fact::default(),
        server: Vec::new(),
    };
    let throttled = |device: &str| {
        let device = device.to_owned();
        Warning::Limited(Limit::Throttled { device, throttle })
    };
    let buffered = |device: &str| {
        let device = device.to_owned();
        Warning::Limited(Limit::Buffered { device })
    };
    let mut run = run(&[1e4; 6], "reads", &[]);
    let devices = [
        device("vda1", None, false),
        device("vda", Some(throttle), false),
        device("loop0", None, true),
    ];
    run.host.storage.devices = Fact::Known(devices.into());
    assert_eq!(limits(&run), [throttled("vda"), buffered("loop0")]);
    // A job names another device, and any case may be its one.
    run.plan.named = vec![named(false, device("vdb", Some(throttle), false))];
    let all = [throttled("vdb"), throttled("vda"), buffered("loop0")];
    assert_eq!(limits(&run), all);
    // One that stands in for the work directory's file.
    run.plan.named = vec![named(true, device("vdb", None, false))];
    assert_eq!(limits(&run), []);
    run.plan.named.clear();
    run.plan.cases[0].nature = Nature::System;
    assert_eq!(limits(&run), []);
}

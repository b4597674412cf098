//! Blocks of an earlier job are judged by what is known of them: a sound file is never blamed, a damaged one is.

use super::*;

type Change = fn(&mut Job);

/// Ways to write that leave different blocks in different places.
const WAYS: [(&str, Change); 22] = [
    ("write", |_| ()),
    ("randwrite", |_| ()),
    ("randwrite", |job| job.blocks.write = RANGE),
    ("write", |job| job.blocks.write = RANGE),
    ("write", |job| job.blocks.write = Some(split())),
    ("randwrite", |job| job.blocks.write = Some(split())),
    ("randwrite", |job| job.repeat_blocks = true),
    ("randwrite", |job| {
        (job.repeat_blocks, job.blocks.write) = (true, RANGE);
    }),
    ("randwrite", |job| {
        job.distribution = Distribution::Zipf {
            theta: 1.2,
            center: None,
        };
    }),
    ("randrw", |_| ()),
    ("rw", |_| ()),
    ("randrw", |job| {
        (job.blocks.read, job.blocks.write, job.read_percent) = (RANGE, RANGE, 30);
    }),
    ("randwrite", |job| job.end.ops = Some(20)),
    ("randwrite", |job| {
        (job.end.bytes, job.blocks.write) = (Some(100 * K), RANGE);
    }),
    ("randwrite", |job| {
        (job.end.loops, job.blocks.write) = (3, RANGE);
    }),
    ("write", |job| job.steps.skip_bytes = 8192),
    ("write", |job| job.steps.skip_bytes = -8192),
    ("randwrite", |job| {
        (job.steps.ops_per_offset, job.blocks.write) = (4, RANGE);
    }),
    ("randwrite", |job| {
        job.steps.random_percent = Directions::all(40);
    }),
    ("randwrite", |job| {
        job.zones = Some(model::job::Zones {
            work_bytes: 32 * K,
            range_bytes: 64 * K,
            skip_bytes: 0,
        });
        job.blocks.write = RANGE;
    }),
    ("randwrite", |job| {
        job.verify.as_mut().unwrap().interval_bytes = Some(1024);
        job.blocks.write = RANGE;
    }),
    ("randwrite", |job| {
        job.verify.as_mut().unwrap().offset_bytes = 100;
        job.blocks.write = RANGE;
    }),
];

const RANGE: Option<Blocks> = Some(Blocks::Range {
    min_bytes: 4096,
    max_bytes: 16_384,
});

fn split() -> Blocks {
    Blocks::Split(vec![(4096, 70.0), (8192, 20.0), (32_768, 10.0)])
}

/// A job that writes, and the one that checks what it wrote.
fn pair(rw: &str, change: Change, method: &VerifyMethod, engine: (IoEngine, u32)) -> [Job; 2] {
    let mut writes = Job {
        seed: Some(11),
        verify: Some(Verify {
            reads_back: false,
            ..Verify::new(method.clone())
        }),
        ..on(engine.0, engine.1, job(rw))
    };
    change(&mut writes);
    let mut checks = writes.clone();
    checks.verify.as_mut().unwrap().only_checks = true;
    [writes, checks]
}

/// Where blocks begin that are there whole, in a file of intact blocks.
fn headers(data: &[u8], how: &Verify) -> Vec<usize> {
    use crate::storage::verify::Checked;
    let to = usize::try_from(how.offset_bytes).unwrap();
    let length = |at: usize| how.method.length(data.get(at + to..)?, at as u64);
    let is_whole = |at: &usize| {
        let inside = length(*at).map(|length| at + 1024..at + length);
        inside.is_some_and(|mut inside| !inside.any(|at| at % 1024 == 0 && length(at).is_some()))
    };
    (0..data.len()).step_by(1024).filter(is_whole).collect()
}

#[test]
fn a_sound_file_is_not_blamed_and_a_damaged_one_is() {
    for engine in [(IoEngine::Psync, 1), (IoEngine::Libaio, 8)] {
        for (number, (rw, change)) in WAYS.into_iter().enumerate() {
            for method in [VerifyMethod::Crc32c, VerifyMethod::Md5] {
                let (_root, place) = place();
                let [writes, checks] = pair(rw, change, &method, engine);
                run(&writes, &place);
                let case = format!("{number} {rw} {engine:?} {method:?}");
                let (_, finish) = run(&checks, &place);
                let report = told(&finish);
                assert!(report.verified > 0, "{case}");
                assert_eq!(
                    (report.verify_errors, report.done.write.ops),
                    (0, 0),
                    "{case}"
                );
                assert!(finish.notes.is_empty(), "{case}: {:?}", finish.notes);
                // Data, then a header, of a block in the middle.
                let sound = std::fs::read(data_file(&place)).unwrap();
                let how = checks.verify.as_ref().unwrap();
                let to = usize::try_from(how.offset_bytes).unwrap();
                let all = headers(&sound, how);
                let block = all[all.len() / 2];
                for at in [block + 700, block + to] {
                    let mut damaged = sound.clone();
                    damaged[at] ^= 0x10;
                    std::fs::write(data_file(&place), &damaged).unwrap();
                    let found = outcome(&checks, &place);
                    assert!(
                        matches!(found, Err(WorkError::Wrong(_))),
                        "{case} at {at}: {found:?}"
                    );
                }
                // All of it gone is no sound file either.
                std::fs::write(data_file(&place), vec![0; sound.len()]).unwrap();
                assert!(outcome(&checks, &place).is_err(), "{case}: all gone");
            }
        }
    }
}

#[test]
fn what_another_order_wrote_is_searched_for_and_not_blamed() {
    for engine in [(IoEngine::Psync, 1), (IoEngine::Libaio, 8)] {
        for (number, (rw, change)) in WAYS.into_iter().enumerate() {
            let (_root, place) = place();
            let [writes, checks] = pair(rw, change, &VerifyMethod::Crc32c, engine);
            // As another program draws.
            let other = Job {
                seed: Some(12),
                ..writes
            };
            run(&other, &place);
            let case = format!("{number} {rw} {engine:?}");
            let (_, finish) = run(&checks, &place);
            assert_eq!(told(&finish).verify_errors, 0, "{case} {:?}", finish.notes);
            assert!(told(&finish).verified > 0, "{case} {:?}", finish.notes);
            let mut data = std::fs::read(data_file(&place)).unwrap();
            let all = headers(&data, checks.verify.as_ref().unwrap());
            data[all[all.len() / 2] + 900] ^= 1;
            std::fs::write(data_file(&place), &data).unwrap();
            let found = outcome(&checks, &place);
            assert!(
                matches!(found, Err(WorkError::Wrong(_))),
                "{case}: {found:?}"
            );
        }
    }
}

#[test]
fn a_job_that_ended_early_is_judged_as_far_as_it_came() {
    for rw in ["write", "randwrite"] {
        let (_root, place) = place();
        let [mut writes, mut checks] =
            pair(rw, |_| (), &VerifyMethod::Crc32c, (IoEngine::Psync, 1));
        for job in [&mut writes, &mut checks] {
            job.end.time = Some(Nanos::from_secs(60));
        }
        let mut body = open(&writes, &place).unwrap();
        assert_eq!(body.batch(20, &mut Recorder::off()).unwrap(), 20);
        body.finish().unwrap();
        let (_, finish) = run(&checks, &place);
        assert_eq!(
            (told(&finish).verified, told(&finish).verify_errors),
            (20, 0),
            "{rw}"
        );
        assert!(finish.notes[0].contains("44 places"), "{:?}", finish.notes);
        // What lies before the last block was there.
        let mut data = std::fs::read(data_file(&place)).unwrap();
        let first = headers(&data, checks.verify.as_ref().unwrap())[0];
        data[first] ^= 1;
        std::fs::write(data_file(&place), &data).unwrap();
        let found = outcome(&checks, &place);
        assert!(matches!(found, Err(WorkError::Wrong(_))), "{rw}: {found:?}");
    }
}

#[test]
fn an_end_that_the_writer_alone_had_blames_nothing() {
    for (way, (rw, change)) in WAYS.into_iter().enumerate() {
        let (_root, place) = place();
        let [mut writes, checks] = pair(rw, change, &VerifyMethod::Crc32c, (IoEngine::Psync, 1));
        writes.end.time = Some(Nanos::from_secs(60));
        let mut body = open(&writes, &place).unwrap();
        body.batch(15, &mut Recorder::off()).unwrap();
        body.finish().unwrap();
        let (_, finish) = run(&checks, &place);
        assert_eq!(told(&finish).verify_errors, 0, "{rw} {:?}", finish.notes);
        assert!(told(&finish).verified > 0, "{rw}");
        // A block that is gone was there where a later one is.
        let mut data = std::fs::read(data_file(&place)).unwrap();
        let how = checks.verify.as_ref().unwrap();
        let number = |at: &usize| data[*at + 28..*at + 32].to_vec();
        let all = headers(&data, how);
        if way == 0 {
            let first = all.iter().copied().min_by_key(number).unwrap();
            data[first..first + 1024].fill(0);
            std::fs::write(data_file(&place), &data).unwrap();
            let found = outcome(&checks, &place);
            assert!(matches!(found, Err(WorkError::Wrong(_))), "{rw}: {found:?}");
        }
    }
}

#[test]
fn a_check_of_other_options_than_those_of_the_writer_blames_nothing() {
    const HOLES: Change = |job| job.repeat_blocks = true;
    const LARGE: Change = |job| job.block_bytes = 16_384;
    let cases: [(&str, Change, &str, Change); 11] = [
        ("randwrite", HOLES, "randwrite", |_| ()),
        ("randwrite", HOLES, "write", |_| ()),
        ("randwrite", HOLES, "read", |_| ()),
        (
            "randwrite",
            |job| job.end.ops = Some(9),
            "randwrite",
            |_| (),
        ),
        (
            "randwrite",
            |job| job.end.bytes = Some(36 * K),
            "write",
            |_| (),
        ),
        ("write", |job| job.steps.skip_bytes = 8192, "read", |_| ()),
        ("write", LARGE, "randread", |job| job.end.ops = Some(1)),
        ("randwrite", LARGE, "write", |_| ()),
        (
            "randwrite",
            |job| (job.blocks.write, job.repeat_blocks) = (RANGE, true),
            "randwrite",
            LARGE,
        ),
        (
            "randwrite",
            |job| (job.blocks.write, job.repeat_blocks) = (RANGE, true),
            "read",
            LARGE,
        ),
        (
            "randwrite",
            |job| job.continue_on.write = true,
            "write",
            |_| (),
        ),
    ];
    for (number, (wrote, change, rw, other)) in cases.into_iter().enumerate() {
        for is_fatal in [false, true] {
            for seed in 11..15 {
                let (_root, place) = place();
                let engine = (IoEngine::Psync, 1);
                let [writes, _] = pair(wrote, change, &VerifyMethod::Crc32c, engine);
                let [_, mut checks] = pair(rw, other, &VerifyMethod::Crc32c, engine);
                checks.seed = Some(seed);
                checks.verify.as_mut().unwrap().is_fatal = is_fatal;
                run(&writes, &place);
                let case = format!("{number} {wrote} {rw} {is_fatal} {seed}");
                match outcome(&checks, &place) {
                    Ok((_, finish)) => assert_eq!(told(&finish).verify_errors, 0, "{case}"),
                    Err(WorkError::Failed(why)) => {
                        assert!(why.contains("not judged"), "{case}: {why}");
                    }
                    Err(other) => panic!("{case}: {other}"),
                }
                // Data of a block, and a bit of a header.
                if rw.ends_with("write") && !(6..=7).contains(&number) {
                    let sound = std::fs::read(data_file(&place)).unwrap();
                    let all = headers(&sound, checks.verify.as_ref().unwrap());
                    for at in [all[all.len() / 2] + 700, all[0] + 17] {
                        let mut damaged = sound.clone();
                        damaged[at] ^= 8;
                        std::fs::write(data_file(&place), &damaged).unwrap();
                        let found = outcome(&checks, &place);
                        let is_found = matches!(found, Err(WorkError::Wrong(_)));
                        assert!(is_found, "{case} at {at}: {found:?}");
                    }
                }
            }
        }
    }
}

#[test]
fn a_lost_block_is_found_by_the_words_of_the_others_and_not_where_another_job_wrote_too() {
    let (_root, place) = place();
    let engine = (IoEngine::Psync, 1);
    let [writes, checks] = pair("randwrite", |_| (), &VerifyMethod::Crc32c, engine);
    run(&writes, &place);
    let sound = std::fs::read(data_file(&place)).unwrap();
    let last = (0..sound.len())
        .step_by(4096)
        .max_by_key(|at| u32::from_le_bytes(sound[at + 28..at + 32].try_into().unwrap()));
    let mut lost = sound.clone();
    let at = if last == Some(8192) { 0 } else { 8192 };
    lost[at..at + 4096].fill(0);
    std::fs::write(data_file(&place), &lost).unwrap();
    for is_fatal in [false, true] {
        let mut checks = checks.clone();
        checks.verify.as_mut().unwrap().is_fatal = is_fatal;
        let found = outcome(&checks, &place);
        let Err(WorkError::Wrong(words)) = found else {
            panic!("{found:?}")
        };
        assert!(words.contains("no header"), "{words}");
    }
    // A larger block of another job over four of this one leaves no header in three places.
    std::fs::write(data_file(&place), &sound).unwrap();
    let [other, _] = pair(
        "randwrite",
        |job| (job.block_bytes, job.end.ops) = (16_384, Some(3)),
        &VerifyMethod::Crc32c,
        engine,
    );
    run(&other, &place);
    let (_, finish) = run(&checks, &place);
    assert_eq!(told(&finish).verify_errors, 0, "{:?}", finish.notes);
}

#[test]
fn reads_of_other_lengths_than_were_written_blame_nothing() {
    let (_root, place) = place();
    let [writes, checks] = pair("write", |_| (), &VerifyMethod::Crc32c, (IoEngine::Psync, 1));
    let [large, _] = pair(
        "write",
        |job| job.block_bytes = 16_384,
        &VerifyMethod::Crc32c,
        (IoEngine::Psync, 1),
    );
    let read = |block: u64, blocks: Option<Blocks>| {
        let mut job = Job {
            pattern: Pattern::from_word("read").unwrap(),
            block_bytes: block,
            ..checks.clone()
        };
        job.blocks.read = blocks;
        outcome(&job, &place)
    };
    run(&writes, &place);
    for (block, blocks) in [(4096, None), (65_536, None), (16_384, RANGE)] {
        let (_, finish) = read(block, blocks).unwrap();
        assert_eq!(
            (told(&finish).verified, told(&finish).verify_errors),
            (64, 0),
            "{block}"
        );
    }
    // A part of a block cannot be judged, and that is no damage.
    run(&large, &place);
    match read(4096, None) {
        Err(WorkError::Failed(words)) => assert!(words.contains("16384 bytes"), "{words}"),
        other => panic!("{other:?}"),
    }
    let mut data = std::fs::read(data_file(&place)).unwrap();
    data[20_000] ^= 1;
    std::fs::write(data_file(&place), &data).unwrap();
    assert!(matches!(read(16_384, None), Err(WorkError::Wrong(_))));
    assert!(matches!(read(65_536, None), Err(WorkError::Wrong(_))));
}

#[test]
fn a_pattern_is_judged_without_headers_that_tell_where_blocks_begin() {
    let method = VerifyMethod::Pattern(vec![1, 2, 3, 4, 5, 6, 7]);
    for (number, (rw, change)) in WAYS.into_iter().enumerate() {
        let (_root, place) = place();
        let [writes, mut checks] = pair(rw, change, &method, (IoEngine::Psync, 1));
        if writes.verify.as_ref().unwrap().offset_bytes > 0 {
            continue;
        }
        run(&writes, &place);
        for seed in [11, 12] {
            checks.seed = Some(seed);
            match outcome(&checks, &place) {
                Ok((_, finish)) => {
                    assert_eq!(told(&finish).verify_errors, 0, "{number} {rw} {seed}");
                }
                Err(error) => panic!("{number} {rw} {seed}: {error}"),
            }
        }
        checks.seed = Some(11);
        let mut data = std::fs::read(data_file(&place)).unwrap();
        // In what is looked at for sure: where all of it was written, anywhere.
        if data.iter().all(|byte| (1..=7).contains(byte)) {
            data[100_000] ^= 0x40;
            std::fs::write(data_file(&place), &data).unwrap();
            let found = outcome(&checks, &place);
            assert!(
                matches!(found, Err(WorkError::Wrong(_))),
                "{number} {rw}: {found:?}"
            );
        }
    }
}

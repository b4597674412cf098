//! What was written is what is read back, and where it is not that is found.

use super::*;

#[test]
fn everything_written_is_read_back_and_right() {
    let pattern = VerifyMethod::Pattern(vec![0xde, 0xad, 0xbe]);
    for method in [
        VerifyMethod::Crc32c,
        VerifyMethod::Md5,
        VerifyMethod::Sha256,
        pattern,
    ] {
        for (engine, depth) in ENGINES {
            for rw in ["write", "randwrite", "randrw"] {
                for change in [
                    (|_| ()) as fn(&mut Job),
                    |job| job.repeat_blocks = true,
                    |job| job.end.loops = 2,
                    |job| {
                        job.blocks.write = Some(Blocks::Split(vec![(4096, 50.0), (12_288, 50.0)]));
                    },
                    |job| job.contents = Contents::Zero,
                    |job| job.verify.as_mut().unwrap().backlog = Some(10),
                    |job| {
                        let verify = job.verify.as_mut().unwrap();
                        (verify.backlog, verify.backlog_batch) = (Some(10), Some(3));
                    },
                    |job| {
                        let verify = job.verify.as_mut().unwrap();
                        (verify.interval_bytes, verify.offset_bytes) = (Some(512), 128);
                    },
                ] {
                    let (_root, place) = place();
                    let mut job = on(engine, depth, job(rw));
                    job.verify = Some(Verify::new(method.clone()));
                    change(&mut job);
                    let (_, finish) = run(&job, &place);
                    let case = format!("{engine:?} {rw} {:?}", job.verify);
                    assert_eq!(told(&finish).verify_errors, 0, "{case}");
                    let verified = told(&finish).verified;
                    let writes = told(&finish).done.write.ops;
                    assert!(verified > 0 && writes > 0, "{case}");
                    if rw == "randwrite"
                        && !job.repeat_blocks
                        && job.end.loops == 1
                        && job.blocks.write.is_none()
                    {
                        let per_block =
                            4096 / job.verify.as_ref().unwrap().interval_bytes.unwrap_or(4096);
                        assert_eq!((writes, verified), (64, 64 * per_block), "{case}");
                    }
                }
            }
        }
    }
}

/// Flips one bit of the data file.
fn flip(path: &Path, byte: usize) {
    let mut data = std::fs::read(path).unwrap();
    data[byte] ^= 0x10;
    std::fs::write(path, data).unwrap();
}

#[test]
fn a_flipped_bit_is_found_and_named() {
    for method in [
        VerifyMethod::Crc32c,
        VerifyMethod::Md5,
        VerifyMethod::Sha256,
        VerifyMethod::Pattern(vec![1, 2, 3, 4]),
    ] {
        for (engine, depth) in ENGINES {
            let (_root, place) = place();
            let written = Job {
                verify: Some(Verify {
                    reads_back: false,
                    ..Verify::new(method.clone())
                }),
                ..on(engine, depth, job("randwrite"))
            };
            run(&written, &place);
            let only = Job {
                verify: Some(Verify {
                    only_checks: true,
                    ..Verify::new(method.clone())
                }),
                ..written.clone()
            };
            let (_, finish) = run(&only, &place);
            assert_eq!(
                (told(&finish).verified, told(&finish).done.write.ops),
                (64, 0),
                "{method:?}"
            );

            flip(&data_file(&place), 5 * 4096 + 1234);
            let reading = Job {
                pattern: Pattern::from_word("read").unwrap(),
                ..only.clone()
            };
            for job in [&only, &reading] {
                let Err(WorkError::Wrong(words)) = outcome(job, &place) else {
                    panic!("{method:?} on {engine:?}: the flipped bit was not found")
                };
                let place_of = if matches!(method, VerifyMethod::Pattern(_)) {
                    "byte 1234 is"
                } else {
                    "checksum"
                };
                for part in ["data-262144-c0-d0` at offset 20480", place_of, "and not"] {
                    assert!(words.contains(part), "{words}");
                }
            }
            // It may be let pass, and is counted; or end the job where it is found.
            for (verify, number) in [(true, None), (false, Some(84))] {
                let mut passing = only.clone();
                passing.continue_on.verify = verify;
                passing.continue_on.only.verify.extend(number);
                let (ops, finish) = run(&passing, &place);
                assert_eq!(
                    (ops, told(&finish).verified, told(&finish).verify_errors),
                    (64, 63, 1)
                );
            }
            let mut fatal = only;
            fatal.verify.as_mut().unwrap().is_fatal = true;
            assert!(matches!(outcome(&fatal, &place), Err(WorkError::Wrong(_))));
        }
    }
}

#[test]
fn what_a_time_left_unchecked_is_checked_in_the_end() {
    let (_root, place) = place();
    let job = Job {
        verify: Some(Verify::new(VerifyMethod::Crc32c)),
        end: End::default(),
        ..on(IoEngine::IoUring, 4, job("randwrite"))
    };
    let mut body = open(&job, &place).unwrap();
    assert_eq!(body.batch(40, &mut Recorder::off()).unwrap(), 40);
    let finish = body.finish().unwrap();
    let verified = told(&finish).verified;
    assert!(
        (40..=44).contains(&verified),
        "those under way are checked too: {verified}"
    );
    // Going on it is checked after every pass.
    let mut body = open(&job, &place).unwrap();
    assert_eq!(body.batch(300, &mut Recorder::off()).unwrap(), 300);
    let finish = body.finish().unwrap();
    assert!(told(&finish).done.read.ops >= 128, "{:?}", finish.reported);
}

#[test]
fn lengths_and_room_change_in_the_place_of_transfers() {
    use std::os::unix::fs::MetadataExt;
    let check = |engine, rw, ops: [u64; 3], length, room| {
        let (_root, place) = place();
        let job = on(engine, 1, job(rw));
        let (_, finish) = run(&job, &place);
        let done = told(&finish).done.each().map(|done| done.ops);
        let name = if job.pattern.mix.trims() {
            "data-262144-c0-d0-trim"
        } else {
            "data-262144-c0-d0"
        };
        let found = std::fs::metadata(place.run_dir.join(name)).unwrap();
        let case = (found.len(), found.blocks() * 512, done);
        assert_eq!(case, (length, room, ops), "{engine:?} {rw}");
    };
    check(IoEngine::Ftruncate, "write", [0, 64, 0], 252 * K, 0);
    check(IoEngine::Falloc, "write", [0, 64, 0], 256 * K, 256 * K);
    check(IoEngine::Falloc, "randread", [64, 0, 0], 256 * K, 256 * K);
    check(IoEngine::Falloc, "randtrim", [0, 0, 64], 256 * K, 0);
    let (_root, place) = place();
    for rw in ["read", "randtrim"] {
        let refused = outcome(&on(IoEngine::Ftruncate, 1, job(rw)), &place);
        let why = refused.unwrap_err().to_string();
        assert!(why.contains("in the place of writes"), "{rw}: {why}");
    }
}

#[test]
fn trimmed_blocks_are_written_again() {
    for (engine, depth) in ENGINES {
        let (_root, place) = place();
        let mut job = on(engine, depth, job("randwrite"));
        job.pattern.mix = model::job::Mix::TrimWrite;
        job.verify = Some(Verify::new(VerifyMethod::Crc32c));
        let (_, finish) = run(&job, &place);
        let told = told(&finish);
        let all = [told.done.trim.ops, told.done.write.ops, told.verified];
        assert_eq!(all, [64, 64, 64], "{engine:?}");
    }
}

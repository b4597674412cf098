//! What is known of the last cache of made-up machines, however much of them the room lets be seen.

use super::*;
use crate::os::testing;
use model::num::approx;
use model::rng::Rng;

const MIB: u64 = 1 << 20;

#[test]
fn what_was_observed_once_is_kept_for_the_run() {
    let (_root, mut place) = testing::place();
    let last = LastCache {
        bytes: 12_345_678,
        shown: 20_000_000,
        seen: true,
        huge: true,
    };
    let text = serde_json::to_string(&last).unwrap();
    std::fs::write(place.run_dir.join("last-cache"), text).unwrap();
    assert_eq!(observed_cache(&place).unwrap(), last);
    let arrays = |room: u64| beyond_the_caches(&place, "arrays", |_| room);
    assert_eq!(arrays(1 << 40).unwrap().bytes, ARRAYS_USUAL);
    let found = beyond_the_caches(&place, "arrays", |room| room_of_each(room, &place));
    assert!(found.unwrap().bytes <= ARRAYS_USUAL);
    place.copies = 1 << 30;
    let found = beyond_the_caches(&place, "arrays", |room| room_of_each(room, &place));
    assert!(found.is_err(), "no room for so many");
}

#[test]
fn all_copies_of_a_round_have_arrays_of_one_size_and_say_alike_that_they_are_small() {
    let check = |cache_mib: u64, rooms_mib: [u64; 2], expected: Result<(u64, &str), &str>| {
        let (_root, place) = testing::place();
        let last = LastCache {
            bytes: cache_mib * MIB,
            shown: cache_mib * MIB,
            seen: true,
            huge: true,
        };
        keep(&place, &place.run_dir.join("last-cache"), &last).unwrap();
        let arrays = |copy: u32, room_mib: u64| {
            let place = Place {
                copy,
                copies: 2,
                ..place.clone()
            };
            beyond_the_caches(&place, "arrays", |_| room_mib * MIB)
        };
        // The first copy decides; the second one would find another room by then.
        let first = arrays(0, rooms_mib[0]);
        match (first, expected) {
            (Ok(first), Ok((mib, note))) => {
                assert_eq!(first.bytes, mib * MIB, "{cache_mib} {rooms_mib:?}");
                let said = first.note.clone().unwrap_or_default();
                assert!(
                    said.contains(note) && said.is_empty() == note.is_empty(),
                    "{said}"
                );
                assert_eq!(arrays(1, rooms_mib[1]).unwrap(), first);
            }
            (Err(WorkError::Unsupported(why)), Err(words)) => assert!(why.contains(words), "{why}"),
            (first, _) => panic!("{cache_mib} {rooms_mib:?}: {first:?}"),
        }
    };
    let part = "a part of the figure is the cache's";
    check(105, [4096, 300], Ok((420, "")));
    check(
        105,
        [350, 250],
        Ok((
            210,
            "2.0 times the last cache (105 MiB), because no more memory",
        )),
    );
    check(105, [210, 100], Ok((210, part)));
    check(105, [209, 4096], Err("twice the last cache of 105 MiB"));
    check(32, [350, 100], Ok((256, "")));
    check(32, [100, 350], Ok((64, part)));
    check(480, [4096, 1000], Ok((1920, "")));
    check(480, [1000, 4096], Ok((960, part)));
    check(480, [350, 350], Err("960 MiB are needed"));
}

#[test]
fn arrays_below_four_times_the_last_cache_say_so_and_below_twice_there_are_none() {
    let check = |bytes: u64, shown: u64, seen, room: u64, expected: Result<(u64, &str), &str>| {
        let last = LastCache {
            bytes: bytes * MIB,
            shown: shown * MIB,
            seen,
            huge: true,
        };
        let found = arrays_within(last, "arrays", room * MIB);
        let object = format!("{last:?} {room}: {found:?}");
        match (found, expected) {
            (Ok(arrays), Ok((mib, note))) => {
                assert_eq!(arrays.bytes >> 20, mib, "{object}");
                let said = arrays.note.unwrap_or_default();
                assert!(said.starts_with(note), "{object}");
                assert_eq!(said.is_empty(), note.is_empty(), "{object}");
            }
            (Err(why), Err(words)) => assert!(why.contains(words), "{object}"),
            _ => panic!("{object}"),
        }
    };
    check(105, 105, true, 4096, Ok((420, "")));
    check(105, 105, true, 420, Ok((420, "")));
    check(32, 32, true, 4096, Ok((256, "")));
    // What is shown counts where a busy machine showed less of it, or a little more.
    let note = "arrays of 210 MiB are 2.0 times the last cache (105 MiB), because no more memory";
    check(36, 105, true, 419, Ok((210, note)));
    check(36, 105, true, 210, Ok((210, note)));
    check(130, 105, true, 4096, Ok((420, "")));
    let twice =
        "210 MiB are needed, twice the last cache of 105 MiB, and each copy may take 209 MiB";
    check(36, 105, true, 209, Err(twice));
    check(36, 105, true, 73, Err("210 MiB are needed"));
    // Caches that are hidden or shown too small.
    let note = "arrays of 256 MiB are 2.4 times the last cache (105 MiB): a part of the figure";
    check(105, 16, true, 4096, Ok((256, note)));
    check(400, 0, true, 4096, Ok((1024, "arrays of 1024 MiB are 2.6")));
    let more = "arrays of 256 MiB are 2.6 times the last cache (100 MiB or more): a part";
    check(100, 16, false, 256, Ok((256, more)));
    // Small caches: 64 MiB are beyond any of them.
    check(8, 8, true, 64, Ok((64, "")));
    check(8, 8, true, 63, Err("64 MiB are needed, and each copy"));
}

#[test]
fn a_busy_machine_has_the_arrays_that_it_has_when_it_is_quiet() {
    // Neighbours make loads slower, some of them by a little, some many times, and for some points on end.
    let busy = |rng: &mut Rng, points: &mut Points| {
        let mut lasting = 1.0;
        for point in points {
            if rng.unit() < 0.2 {
                lasting = 1.0 + 3.0 * rng.unit() * rng.unit();
            }
            let spike = if rng.unit() < 0.1 {
                1.0 + 4.0 * rng.unit()
            } else {
                1.0
            };
            point.1 *= lasting * spike * (1.0 + 0.05 * rng.unit());
        }
    };
    let mut rng = Rng::new(29);
    for (last_mib, shown_mib) in [(8, 8), (32, 32), (64, 64), (105, 105), (256, 256)] {
        let mut found_at = |is_busy: bool| {
            let found = look(shown_mib * MIB, 1 << 40, |from, to| {
                let new = sizes(to).into_iter().filter(|size| *size > from);
                let mut points = new.map(|size| (size, ns(last_mib * MIB, size))).collect();
                if is_busy {
                    busy(&mut rng, &mut points);
                }
                Ok((points, true))
            });
            arrays_within(found.unwrap(), "arrays", 1 << 40).unwrap()
        };
        let quiet = found_at(false);
        assert_eq!(quiet.bytes, (4 * shown_mib * MIB).max(ARRAYS_USUAL));
        assert_eq!(quiet.note, None);
        let other = (0..300).filter(|_| found_at(true).bytes != quiet.bytes);
        assert_eq!(other.count(), 0, "of 300 with {last_mib} MiB");
    }
}

#[test]
fn arrays_are_beyond_a_cache_that_the_machine_does_not_show() {
    for last_mib in [40, 64, 105, 150, 200, 300, 400] {
        for shown_mib in [0, 16, 32] {
            let (_, found) = explored(last_mib, shown_mib, 1 << 20);
            let arrays = arrays_within(found, "arrays", 1 << 40).unwrap();
            // What is observed may come out a quarter too small.
            assert!(
                arrays.bytes >> 20 >= last_mib * 3 / 2,
                "{found:?} {arrays:?}"
            );
        }
    }
}

/// What a load takes on a machine whose second cache holds 2 MiB and the last one `last` bytes.
fn ns(last: u64, bytes: u64) -> f64 {
    let held = |cache: u64| (approx(cache) / approx(bytes)).min(1.0);
    let (l2, l3) = (held(2 * MIB), held(last));
    6.0 * l2 + 25.0 * (l3 - l2).max(0.0) + 110.0 * (1.0 - l3)
}

/// How far the curve of a machine goes whose last cache has so many MiB, in MiB, and what is then known of it.
fn explored(last_mib: u64, shown_mib: u64, room_mib: u64) -> (u64, LastCache) {
    let mut curve: Points = Vec::new();
    let found = look(shown_mib * MIB, room_mib * MIB, |from, to| {
        let new = sizes(to).into_iter().filter(|size| *size > from);
        let points: Points = new.map(|size| (size, ns(last_mib * MIB, size))).collect();
        curve.extend(&points);
        Ok((points, true))
    })
    .unwrap();
    assert!(curve.windows(2).all(|pair| pair[0].0 < pair[1].0));
    assert!(found.huge);
    (curve.last().unwrap().0 >> 20, found)
}

#[test]
fn a_cache_that_the_machine_does_not_show_is_followed_to_four_times_its_size() {
    let check = |last, shown, room, reached: std::ops::RangeInclusive<u64>, seen: bool| {
        let (found, cache) = explored(last, shown, room);
        assert!(reached.contains(&found), "{last} {shown}: to {found} MiB");
        let right = (last * 3 / 5..=last * 5 / 4).contains(&(cache.bytes >> 20));
        assert_eq!(
            (right, cache.seen),
            (seen, seen),
            "{last} {shown}: {cache:?}"
        );
    };
    // What is shown is there, or less is: the first stretch is enough.
    check(100, 105, 8192, 500..=512, true);
    check(32, 0, 8192, 500..=512, true);
    check(200, 256, 8192, 1000..=1024, true);
    // More is there than is shown.
    check(400, 16, 8192, 1024..=2048, true);
    check(300, 0, 8192, 1024..=2048, true);
    // The room ends the curve, far enough behind the cache.
    check(32, 16, 200, 180..=200, true);
    check(100, 105, 400, 360..=400, true);
}

#[test]
fn where_the_room_ends_the_curve_too_early_the_last_cache_is_not_the_one_before() {
    let check = |last_mib: u64, shown, room_mib: u64, refused: bool| {
        let (end, found) = explored(last_mib, shown, room_mib);
        assert_eq!(found.seen, !refused, "{last_mib} {room_mib}: {found:?}");
        match arrays_within(found, "arrays", room_mib * MIB) {
            Ok(arrays) => assert!(!refused && arrays.bytes >= 2 * last_mib * MIB, "{last_mib}"),
            Err(why) => {
                assert!(refused, "{found:?}: {why}");
                assert_eq!(found.bytes >> 20, end, "all that was measured");
                assert!(why.starts_with("too little memory: "), "{why}");
                assert!(why.contains("larger than the"), "{why}");
            }
        }
    };
    // Flat to its end, and within the last cache all the time, whatever is shown.
    check(400, 16, 300, true);
    check(320, 16, 230, true);
    check(105, 16, 90, true);
    check(400, 0, 100, true);
    // In the climb behind it.
    check(105, 16, 150, true);
    check(105, 16, 230, true);
    check(320, 16, 460, true);
    // Far enough.
    check(105, 16, 460, false);
    check(32, 16, 230, false);
    check(16, 16, 100, false);
}

#[test]
fn the_first_copy_looks_in_all_of_the_room_and_whoever_lost_patience_in_a_share() {
    let (_root, mut place) = testing::place();
    let check = |place: &Place, expected| assert_eq!(room_to_look(place, 960), expected);
    check(&place, 960);
    place.copies = 8;
    check(&place, 960);
    place.copy = 3;
    check(&place, 120);
}

#[test]
fn a_curve_in_small_pages_is_marked_and_what_follows_from_it_too() {
    let (_root, place) = testing::place();
    let (points, huge) = measure(&place, Pages::Small, 8 << 10, 64 << 10).unwrap();
    assert!(!huge);
    assert!(points[0].0 > 8 << 10 && points[points.len() - 1].0 == 64 << 10);
    for (second, expected) in [(true, true), (false, false)] {
        let mut calls = 0;
        // One stretch in small pages is enough for a step that is none of a cache.
        let found = look(16 * MIB, 8192 * MIB, |from, to| {
            calls += 1;
            let new = sizes(to).into_iter().filter(|size| *size > from);
            let points = new.map(|size| (size, ns(400 * MIB, size))).collect();
            Ok((points, calls != 2 || second))
        })
        .unwrap();
        assert!(calls > 1);
        assert_eq!(found.huge, expected);
        assert_eq!(reach_within(found, 1 << 40).huge, expected);
    }
}

#[test]
fn a_curve_that_the_room_cuts_says_so_with_what_would_be_needed() {
    let check = |bytes: u64, shown: u64, seen, room, expected: &str| {
        let last = LastCache {
            bytes: bytes * MIB,
            shown: shown * MIB,
            seen,
            huge: true,
        };
        let reach = reach_within(last, room * MIB);
        assert!(reach.largest <= room * MIB);
        let cut = reach.cut.unwrap_or_default();
        assert!(
            cut.starts_with(expected) && cut.is_empty() == expected.is_empty(),
            "{cut}"
        );
    };
    check(105, 105, true, 4096, "");
    check(2, 0, true, 200, "");
    let to = "the curve ends at 181 MiB: four times the last cache";
    check(105, 30, true, 270, &format!("{to} (105 MiB) do not fit"));
    check(50, 105, true, 270, &format!("{to} (105 MiB) do not fit"));
    let more = format!("{to} (181 MiB or more) do not fit");
    check(181, 105, false, 270, &more);
}

#[test]
fn a_curve_that_noise_keeps_from_being_flat_ends_where_it_must() {
    let mut calls = Vec::new();
    let climbing = explore(1 << 20, 16 << 20, |from, to| {
        calls.push((from >> 20, to >> 20));
        let new = sizes(to).into_iter().filter(|size| *size > from);
        Ok(new.map(|size| (size, approx(size) / 1e6)).collect())
    });
    assert_eq!(calls, [(0, 1), (1, 2), (2, 4), (4, 8), (8, 16)]);
    assert_eq!(climbing.unwrap().len(), sizes(16 << 20).len());
    // As far as any curve goes it is taken as it is.
    let last = look(0, 64 << 30, |from, to| {
        let new = sizes(to).into_iter().filter(|size| *size > from);
        Ok((new.map(|size| (size, approx(size) / 1e9)).collect(), true))
    });
    assert!(last.unwrap().seen);
    // Where it is as slow as memory there is no reason to go on.
    let mut calls = 0;
    let last = look(0, 64 << 30, |from, to| {
        calls += 1;
        let new = sizes(to).into_iter().filter(|size| *size > from);
        Ok((new.map(|size| (size, approx(size) / 1e6)).collect(), true))
    });
    assert_eq!((calls, last.unwrap().seen), (1, true));
}

#[test]
fn the_largest_cache_of_any_cpu_is_the_one_that_the_kernel_shows() {
    let root = tempfile::tempdir().unwrap();
    let caches = [
        ("cpu1", "index0", "48K\n"),
        ("cpu1", "index3", "32768K\n"),
        ("cpu12", "index3", "107520K\n"),
        ("cpufreq", "index3", "900000K\n"),
        ("cpu", "index3", "900000K\n"),
    ];
    for (cpu, index, size) in caches {
        let dir = root
            .path()
            .join("sys/devices/system/cpu")
            .join(cpu)
            .join("cache")
            .join(index);
        std::fs::create_dir_all(&dir).unwrap();
        std::fs::write(dir.join("size"), size).unwrap();
    }
    // The first CPU is offline: it has a directory and no caches.
    std::fs::create_dir(root.path().join("sys/devices/system/cpu/cpu0")).unwrap();
    assert_eq!(shown_cache(&Tree::at(root.path())), Some(107_520 << 10));
    assert_eq!(shown_cache(&Tree::at("/nowhere")), None);
}

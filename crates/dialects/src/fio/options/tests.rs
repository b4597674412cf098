//! What holds for every option of the tables.

use super::*;
use crate::fio::apply::{Raw, apply};
use crate::fio::{Job, Place};
use std::collections::BTreeSet;

#[test]
fn every_default_in_the_tables_is_the_default_of_the_job() {
    for def in all() {
        let Status::Supported(_) = def.status else {
            continue;
        };
        if def.default.is_empty() {
            continue;
        }
        let mut draft = Draft::default();
        let raw = Raw {
            name: def.name.to_owned(),
            value: Some(def.default.to_owned()),
            place: Place::default(),
        };
        apply(&mut draft, &raw, false).unwrap();
        finish_blocks(&mut draft);
        draft.job.settings.clear();
        assert_eq!(draft.job, Job::default(), "{}", def.name);
    }
}

#[test]
fn no_name_stands_twice_and_every_option_is_explained() {
    let mut names = BTreeSet::new();
    for def in all() {
        for name in def.names() {
            assert!(names.insert(name), "{name}");
        }
        assert!(def.doc.ends_with('.'), "{}", def.name);
    }
    assert!(names.len() > 200);
}

#[test]
fn a_hint_names_an_option_that_is_supported() {
    for def in all() {
        if let Status::Refused {
            instead: Some(name),
            ..
        } = def.status
        {
            assert!(
                matches!(
                    find(name).unwrap().standing(),
                    Standing::Supported | Standing::InPart
                ),
                "{}: {name}",
                def.name
            );
        }
    }
}

#[test]
fn the_nearest_name_is_the_one_that_was_meant() {
    let check = |name: &str, expect: Option<&str>| assert_eq!(nearest(name), expect, "{name}");
    check("siz", Some("size"));
    check("time_bas", Some("time_based"));
    check("io_depth", Some("iodepth"));
    check("iodept", Some("iodepth"));
    check("blocksise", Some("blocksize"));
    check("qqqqqqqqqqqqqqqq", None);
    check(&"x".repeat(100_000), None);
}

/// The sample's list by use, most used first, up to the seventieth; `kb_base` and what else the language is used for
/// stands behind.
#[test]
fn the_most_used_options_are_all_accepted() {
    let most_used = "rw bs ioengine direct iodepth size numjobs runtime filename time_based \
        group_reporting name ramp_time directory randrepeat rwmixread thread verify \
        norandommap log_avg_msec stonewall write_bw_log sync nrfiles write_lat_log \
        random_generator write_iops_log filesize fallocate loops invalidate \
        cpus_allowed_policy new_group fsync log_hist_msec clocksource end_fsync \
        write_hist_log refill_buffers log_alternate_epoch filename_format create_on_open \
        gtod_reduce buffered startdelay rwmixwrite file_service_type \
        buffer_compress_percentage fsync_on_close unlink bssplit rate_iops zonesize \
        zoneskip zonemode zonerange exitall offset_increment openfiles fadvise_hint ba \
        create_serialize buffer_pattern offset exit_what random_distribution io_size mem \
        description rate rate_process continue_on_error io_submit_mode hipri \
        percentile_list zero_buffers unit_base kb_base fdatasync create_only \
        percentage_random allow_mounted_write number_ios latency_target latency_window \
        latency_percentile latency_run ss ss_dur ss_ramp thinktime thinktime_spin \
        thinktime_blocks do_verify verify_pattern verify_fatal verify_backlog";
    for name in most_used.split_whitespace() {
        let def = find(name).unwrap_or_else(|| panic!("{name}"));
        assert!(!matches!(def.status, Status::Refused { .. }), "{name}");
    }
}

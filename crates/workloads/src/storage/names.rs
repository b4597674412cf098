//! Jobs about names and not about data: files and directories that a round makes, asks for and removes, in the
//! directory that all copies of the round share, so that they meet as processes do that work in one directory.
//!
//! What is asked for or removed is made before the work, with its data, and synced. The directory is the run's own and
//! goes with the round: nothing is made or removed under a name that somebody else chose.

use super::{Fill, space};
use engine::workload::{Place, WorkError};
use model::job::{IoEngine, Job, Redundancy};
use std::os::fd::AsFd;
use sys::folder::{Folder, How, write};
use sys::io::names::{Act, Of};
use sys::loops::failure::Failure;
use sys::name::Name;

/// What the job does to each of its names.
pub(super) const fn act(job: &Job) -> Act {
    match job.engine {
        IoEngine::FileCreate => Act::Create,
        IoEngine::FileDelete => Act::Unlink,
        IoEngine::DirCreate => Act::Mkdir,
        IoEngine::DirDelete => Act::Rmdir,
        _ if job.names.statx => Act::Statx,
        _ => Act::Stat,
    }
}

/// What is done, in the words of errors.
pub(super) const fn word(job: &Job) -> Option<&'static str> {
    match job.engine {
        IoEngine::FileCreate => Some("create files in"),
        IoEngine::FileDelete => Some("unlink files in"),
        IoEngine::DirCreate => Some("mkdir in"),
        IoEngine::DirDelete => Some("rmdir in"),
        IoEngine::FileStat | IoEngine::DirStat => Some("stat names in"),
        IoEngine::Ftruncate => Some("ftruncate"),
        IoEngine::Falloc => Some("fallocate"),
        engine if engine.moves_extents() => Some("move extents of"),
        _ => None,
    }
}

/// What of a job has to be there before its work.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Before {
    Nothing,
    Files,
    Dirs,
}

const fn before(job: &Job) -> Before {
    match job.engine {
        IoEngine::FileStat | IoEngine::FileDelete => Before::Files,
        IoEngine::DirStat | IoEngine::DirDelete => Before::Dirs,
        _ => Before::Nothing,
    }
}

/// The names, with what has to be there before the work.
pub(super) fn made(job: &Job, place: &Place) -> Result<Of, WorkError> {
    let path = &place.shared_dir;
    let failed = |failure: Failure| crate::os::failed(&failure, path.display());
    let names = &job.names;
    let each = space::of_file(match before(job) {
        Before::Files => names.bytes,
        Before::Nothing | Before::Dirs => 4096,
    });
    space::check_round(path, names.count.saturating_mul(each))?;
    let of = Of {
        folder: Folder::open(path).map_err(failed)?,
        prefix: format!("{}.{}.", names.prefix, place.copy),
        count: names.count,
        unit: job.block_bytes,
    };
    if before(job) == Before::Nothing {
        return Ok(of);
    }
    let mut data = vec![0; usize::try_from(names.bytes).unwrap_or(usize::MAX)];
    Redundancy::default().fill(place.seed, 0, &mut data);
    let mut name = Name::new(&of.prefix);
    for number in 0..names.count {
        let name = name.of(number);
        let done = match before(job) {
            Before::Dirs => of.folder.mkdir(name),
            Before::Nothing | Before::Files => of
                .folder
                .file(name, How::CREATE)
                .and_then(|file| write(&file, &data, 0)),
        };
        done.map_err(|failure| crate::fs::failed(&failure, path, name))?;
    }
    sys::loops::copy::sync_file_system(of.folder.handle().as_fd()).map_err(failed)?;
    Ok(of)
}

#[cfg(test)]
mod tests {
    use super::super::tests::place;
    use super::*;
    use crate::storage::open;
    use engine::recorder::Recorder;
    use model::job::{End, Names};

    fn job(engine: IoEngine) -> Job {
        Job {
            engine,
            names: Names {
                count: 300,
                prefix: "1".to_owned(),
                bytes: 100,
                statx: engine == IoEngine::DirStat,
            },
            pattern: model::job::Pattern::from_word("read").unwrap(),
            size: Some(300 * 4096),
            direct: false,
            invalidate: true,
            end: End {
                bytes: Some(300 * 4096),
                ..End::default()
            },
            ..Job::default()
        }
    }

    #[test]
    fn every_name_gets_its_operation_once_and_what_it_takes_is_there_before() {
        for (engine, before, after) in [
            (IoEngine::FileCreate, 0, 300),
            (IoEngine::FileStat, 300, 300),
            (IoEngine::FileDelete, 300, 0),
            (IoEngine::DirCreate, 0, 300),
            (IoEngine::DirStat, 300, 300),
            (IoEngine::DirDelete, 300, 0),
        ] {
            for random in [false, true] {
                let (_root, place) = place();
                let mut job = job(engine);
                job.pattern.random = random;
                let mut body = open(&job, &place).unwrap();
                let there = || std::fs::read_dir(&place.shared_dir).unwrap().count();
                assert_eq!(there(), before, "{engine:?}");
                let mut done = 0;
                while done < 300 {
                    done += body.batch(300 - done, &mut Recorder::off()).unwrap();
                }
                assert_eq!(there(), after, "{engine:?}");
                let finish = body.finish().unwrap();
                assert_eq!(finish.latencies["clat"].count(), 300);
                assert!(finish.failed.is_none(), "{:?}", finish.failed);
            }
        }
    }

    #[test]
    fn what_fails_is_named_and_ends_the_job() {
        let (_root, place) = place();
        let mut body = open(&job(IoEngine::FileDelete), &place).unwrap();
        for found in std::fs::read_dir(&place.shared_dir).unwrap() {
            std::fs::remove_file(found.unwrap().path()).unwrap();
        }
        let error = body.batch(1, &mut Recorder::off()).unwrap_err().to_string();
        assert!(
            error.starts_with("unlink files in `") && error.contains("/shared"),
            "{error}"
        );
    }

    #[test]
    fn too_many_names_are_refused_before_any_is_made() {
        for (count, bytes) in [(1 << 40, 100), (1, u64::MAX)] {
            let (_root, place) = place();
            let mut huge = job(IoEngine::FileStat);
            (huge.names.count, huge.names.bytes) = (count, bytes);
            let error = open(&huge, &place).err().unwrap();
            assert!(matches!(error, WorkError::Unsupported(_)), "{error}");
            assert_eq!(std::fs::read_dir(&place.shared_dir).unwrap().count(), 0);
        }
    }
}

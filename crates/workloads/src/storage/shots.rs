//! Jobs on new files, and the same one several times in a row, as scripts have it: no pause lies between the shots, in
//! which the system could take back the memory that the last one used.

use super::watch::Watch;
use super::{Parts, file};
use engine::recorder::Recorder;
use engine::workload::{Body, Finish, Place, WorkError};
use model::job::Job;
use model::num::{approx, count};
use std::fs;
use std::io::ErrorKind;
use sys::clock;

/// The shots, the first of which is ready.
pub(super) struct Shots {
    job: Job,
    place: Place,
    /// Those that come after this one.
    left: u32,
    body: Box<dyn Body>,
    /// When this one began; `None` before.
    began: Option<u64>,
    /// Its operations so far.
    done: u64,
    /// Bytes a second of each that is over.
    rates: Vec<f64>,
    /// What those before this one handed over.
    before: Vec<Finish>,
}

impl Shots {
    pub(super) fn open(job: Job, place: &Place, shots: u32) -> Result<Box<dyn Body>, WorkError> {
        Ok(Box::new(Self {
            body: open_fresh(&job, place, false)?,
            job,
            place: place.clone(),
            left: shots.saturating_sub(1),
            began: None,
            done: 0,
            rates: Vec::new(),
            before: Vec::new(),
        }))
    }

    /// The shot is over, and its file goes; true where another one begins.
    fn again(&mut self) -> Result<bool, WorkError> {
        let Some(began) = self.began.take() else {
            return Ok(false);
        };
        let ns = approx(clock::monotonic() - began).max(1.0);
        let bytes = approx(std::mem::take(&mut self.done) * self.job.block_bytes);
        self.rates.push(bytes / ns * 1e9);
        if self.left == 0 {
            return Ok(false);
        }
        self.left -= 1;
        self.before.push(self.body.finish()?);
        let path = self.place.dir.join("fresh");
        if let Err(error) = fs::remove_file(&path)
            && error.kind() != ErrorKind::NotFound
        {
            let path = path.display().to_string();
            return Err(WorkError::failed("remove", path, error));
        }
        self.body = open_fresh(&self.job, &self.place, false)?;
        Ok(true)
    }
}

impl Body for Shots {
    fn batch(&mut self, ops: u64, recorder: &mut Recorder) -> Result<u64, WorkError> {
        let mut done = 0;
        loop {
            self.began.get_or_insert_with(clock::monotonic);
            let some = self.body.batch(ops - done, recorder)?;
            self.done += some;
            done += some;
            if done >= ops || !self.again()? {
                return Ok(done);
            }
        }
    }

    fn work_per_op(&self) -> f64 {
        self.body.work_per_op()
    }

    fn finish(&mut self) -> Result<Finish, WorkError> {
        let mut finish = self.body.finish()?;
        for before in self.before.drain(..) {
            for (name, latencies) in before.latencies {
                let all = finish.latencies.entry(name).or_default();
                for (nanos, times) in latencies.pairs() {
                    all.record(nanos, times);
                }
            }
        }
        if self.rates.is_empty() {
            return Ok(finish);
        }
        let mean = self.rates.iter().sum::<f64>() / count(self.rates.len());
        let iops = mean / approx(self.job.block_bytes);
        let means = [("bw_bytes_per_s", mean), ("iops", iops)];
        let means = means.map(|(quantity, value)| (quantity.to_owned(), value));
        finish.reported.extend(means);
        let shots = self.rates.iter().map(|rate| format!("{:.0}", rate / 1e6));
        let shots = shots.collect::<Vec<_>>().join(", ");
        finish.notes.push(format!(
            "its shots gave {shots} MB/s, one after the other; the figure is their mean"
        ));
        Ok(finish)
    }
}

/// Makes a job ready on a file of the round's own that nobody has written to yet: finding places for what is written is
/// part of what is measured. One operation at a time.
pub(super) fn open_fresh(
    job: &Job,
    place: &Place,
    reserve: bool,
) -> Result<Box<dyn Body>, WorkError> {
    job.check().map_err(WorkError::Unsupported)?;
    let file = file::fresh(job, place, reserve)?;
    let opened = file::open(job, &file, place)?;
    file::check_alignment(job, &file, &opened)?;
    let parts = Parts {
        job,
        place,
        sizes: vec![file.size],
        lengths: vec![file.size],
        cached: Vec::new(),
        flow: None,
        watch: Watch::new(Some(&opened)),
        files: vec![file],
        notes: Vec::new(),
    };
    parts.psync()
}

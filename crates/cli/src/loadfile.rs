//! A load file of dbench that the user names: read as a whole before anything is planned, so that what is wrong with it
//! is said at once, and kept in the plan by its digest. Workers read it again, and refuse another one.

use crate::args::NewRun;
use crate::exit::{Exit, failure};
use crate::targets;
use dialects::printable::said;
use engine::resolve::{PlanError, Set};
use model::plan::Plan;
use std::fs::File;
use std::path::Path;
use workloads::fs::dbench::{LOAD, load_digest};

/// The test that does load files.
const TEST: &str = "fs.dbench";

/// A file larger than this is something else; the one that comes with dbench has 26 MB.
const BYTES_MAX: u64 = 256 << 20;

/// The parameter that a named load file sets.
pub(crate) fn set(new: &NewRun) -> anyhow::Result<Option<Set>> {
    let Some(path) = &new.loadfile else {
        return Ok(None);
    };
    if new.device.is_some() || new.file.is_some() {
        let what = format!(
            "use load file `{}`: a device or a file is measured",
            path.display()
        );
        return Err(failure(
            Exit::Usage,
            what,
            Some("`fs.dbench` makes its files by itself"),
        ));
    }
    let value = digest(path).map_err(|why| {
        let what = format!("read load file `{}`: {}", path.display(), said(&why));
        let hint = "name a load file of dbench 4, such as /usr/share/dbench/client.txt";
        failure(Exit::Usage, what, Some(hint))
    })?;
    Ok(Some(Set {
        who: TEST.to_owned(),
        param: LOAD.to_owned(),
        value,
    }))
}

fn digest(path: &Path) -> Result<String, String> {
    let found = std::fs::metadata(path).map_err(|error| error.to_string())?;
    if !found.is_file() {
        return Err("it is no regular file".to_owned());
    }
    if found.len() > BYTES_MAX {
        return Err(format!("it has more than {BYTES_MAX} bytes"));
    }
    if store::is_open_store(&found) {
        return Err("it is the store itself".to_owned());
    }
    load_digest(File::open(path).map_err(|error| error.to_string())?)
}

/// What is said of a load file that no test of the run does; `None` for every other error.
pub(crate) fn unused(new: &NewRun, error: &PlanError) -> Option<anyhow::Error> {
    let path = new.loadfile.as_ref()?.display();
    let PlanError::SetReachesNothing { who, param, .. } = error else {
        return None;
    };
    (who == TEST && param == LOAD).then(|| {
        let what = format!("use load file `{path}`: no test of this run does load files");
        failure(Exit::Usage, what, Some("`kurabe run dbench` does"))
    })
}

/// Refuses a run in which another test would take the load file for its test file.
pub(crate) fn check_alone(new: &NewRun, plan: &Plan) -> anyhow::Result<()> {
    let Some(path) = &new.loadfile else {
        return Ok(());
    };
    let stand_in = targets::on_storage(new)?;
    let takes = |name: &str, params| {
        let workload = workloads::find(name);
        workload.is_some_and(|workload| !workload.touches(params, stand_in.as_ref()).is_empty())
    };
    let mut others = plan.cases.iter().filter(|case| case.workload != TEST);
    match others.find(|case| takes(&case.workload, &case.params)) {
        None => Ok(()),
        Some(case) => {
            let what = format!(
                "use load file `{}`: `{}` would take it for its test file",
                path.display(),
                case.id.test
            );
            Err(failure(
                Exit::Usage,
                what,
                Some("measure that test in a run of its own"),
            ))
        }
    }
}

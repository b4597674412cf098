//! A laboratory for tests: the debug binary of this workspace, in a scratch directory that goes away.

use super::lab::Lab;
use super::options::Options;
use super::place::Place;
use super::throttle::Layout;
use clap::Parser;
use std::path::PathBuf;
use sys::tree::Tree;
use xtask::process::{cargo, succeed};

/// The laboratory. Fields are dropped in order: the scratch directory goes before its parent.
pub(super) struct Bed {
    pub(super) lab: Lab,
    _parent: tempfile::TempDir,
}

impl Bed {
    /// A laboratory of the size that `arguments` say.
    pub(super) fn new(arguments: &[&str]) -> Self {
        let parent = tempfile::tempdir_in(built()).unwrap();
        let root = xtask::root().unwrap();
        // Nothing to do where the workspace's tests are run: their binary is this one.
        succeed(&mut cargo(
            &root,
            &["build", "--quiet", "--locked", "--package", "kurabe"],
        ))
        .unwrap();
        let binary = built().join("kurabe");
        let options = Options::try_parse_from(arguments).unwrap();
        let layout = Layout::find(&Tree::real()).map_err(|error| format!("{error:#}"));
        let place = Place::make(parent.path()).unwrap();
        Self {
            lab: Lab::new(options, place, binary, layout).unwrap(),
            _parent: parent,
        }
    }
}

/// Where cargo puts what it builds for this profile: above `deps`, in which the tests are.
pub(super) fn built() -> PathBuf {
    let own = std::env::current_exe().unwrap();
    own.ancestors().nth(2).unwrap().to_owned()
}

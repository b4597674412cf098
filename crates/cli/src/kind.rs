//! Which command made a run, and so goes on with it.

use model::plan::Plan;

/// Which command made a run.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Kind {
    /// `kurabe run`.
    Run,
    /// `kurabe soak`.
    Soak,
    /// `kurabe duel`.
    Duel,
}

impl Kind {
    /// That of a plan.
    pub(crate) const fn of(plan: &Plan) -> Self {
        if plan.soak.is_some() {
            Self::Soak
        } else if plan.duel.is_some() {
            Self::Duel
        } else {
            Self::Run
        }
    }

    /// The command's name.
    pub(crate) const fn word(self) -> &'static str {
        match self {
            Self::Run => "run",
            Self::Soak => "soak",
            Self::Duel => "duel",
        }
    }

    /// What a run is that another command has to go on with.
    pub(crate) const fn noun(self, command: Self) -> &'static str {
        match self {
            Self::Run if matches!(command, Self::Soak) => "no soak",
            Self::Run => "no duel",
            Self::Soak => "a soak",
            Self::Duel => "one side of a duel",
        }
    }
}

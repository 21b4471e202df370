//! A private copy that its product has tested.

use super::lifecycle::{Start, before};
use super::sandbox::{Sandbox, Setup};
use crate::error::TargetError;

/// What came of a test.
#[derive(Clone, Debug)]
pub(crate) struct Tested<C> {
    /// The copy, or what else was to be remembered of it: its files are gone, as each start makes it anew.
    pub(crate) copy: C,
    accepted: bool,
    printed: String,
}

impl<C> Tested<C> {
    /// Sets it up, has the product check it and throws the files away.
    ///
    /// # Errors
    /// When it cannot be set up or checked. What the product says against it is in [`Tested::verdict`].
    pub(crate) fn of(
        start: &Start<'_>,
        set_up: impl Fn(&Sandbox<'_>) -> Result<(C, Setup), TargetError>,
    ) -> Result<Tested<C>, TargetError> {
        let place = start.place()?;
        let at = start.sandbox(&place);
        let (copy, setup) = set_up(&at)?;
        let (accepted, printed) = before(setup.check, &at, setup.user)?;
        Ok(Tested { copy, accepted, printed: printed.trim().to_owned() })
    }

    /// The warnings in what was printed, of which `told` picks the lines that say something.
    ///
    /// # Errors
    /// [`crate::error::ErrorKind::Rejected`] with the reasons, all that was printed where no line says one.
    pub(crate) fn verdict(
        &self,
        called: &'static str,
        told: fn(&str) -> Vec<&str>,
        translate: &dyn Fn(&str) -> String,
    ) -> Result<Vec<String>, TargetError> {
        let said: Vec<String> = told(&self.printed).into_iter().map(translate).collect();
        match self.accepted {
            true => Ok(said),
            false if said.is_empty() => Err(TargetError::rejected(called, self.printed.clone())),
            false => Err(TargetError::rejected(called, said.join("\n"))),
        }
    }
}

//! The bounds of the service that a proposal is for, which its private copy has not: by what this machine or genkai's own group leaves, it may fit where
//! the service's own does not hold it.

use genkai_model::plan::ConfigSource;
use genkai_place::group;

use super::{Run, original};
use crate::error::LabError;

/// Identity of the note.
const NOTE: &str = "bounds";

/// A server that runs with the user's configuration.
struct Service {
    pid: u32,
    unit: Option<String>,
    /// Memory that its groups allow it, where the copy's allow more.
    memory: Option<u64>,
}

impl Run<'_, '_, '_> {
    /// Says it where what is proposed takes memory.
    pub(super) fn bounds(&mut self, takes_memory: bool) -> Result<(), LabError> {
        let system = &self.job.plan.system;
        if !takes_memory || !matches!(system.config, ConfigSource::File(_)) {
            return Ok(());
        }
        let copy =
            self.recorder.record().trials.first().and_then(|trial| trial.started.load.addresses.first().copied());
        let own = copy.and_then(|copy| original::process(system, self.system.baseline().rewrites(), copy));
        let own = own.map(|pid| Service { pid, unit: group::unit(pid), memory: group::memory_of(pid) });
        self.recorder.note(None, NOTE, told(own.as_ref()))
    }
}

fn told(own: Option<&Service>) -> String {
    let Some(Service { pid, unit, memory }) = own else {
        return "what memory and descriptors a unit or container allows the running server (MemoryMax=, LimitNOFILE=) is not known: its private copy has \
                none of these bounds, and what is told of memory that is left is without them"
            .to_owned();
    };
    let of = unit.as_ref().map_or_else(String::new, |unit| format!(", {unit}"));
    let memory = match memory {
        Some(bytes) => format!(
            "may take {} of memory in all by its control group, which its private copy is not in",
            format_args!("{} MiB", bytes >> 20)
        ),
        None => "has no bound of memory by a control group of its own, as far as is seen".to_owned(),
    };
    format!(
        "the running server (process {pid}{of}) {memory}: what is told of memory that is left is of the copy; LimitNOFILE= of a unit is not looked at"
    )
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_bound_that_the_copy_has_not_is_told() {
        let own = |memory| Service { pid: 7, unit: Some("php8.2-fpm.service".to_owned()), memory };
        let text = told(Some(&own(Some(256 << 20))));
        assert!(
            text.contains("(process 7, php8.2-fpm.service) may take 256 MiB of memory") && text.contains("of the copy"),
            "{text}"
        );
        let text = told(Some(&own(None)));
        assert!(text.contains("has no bound of memory by a control group"), "{text}");
        assert!(told(None).contains("is not known"));
    }
}

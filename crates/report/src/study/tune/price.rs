//! What a proposal takes, in words.

use genkai_model::finding::{Cause, Price, ProposedChange, Verdict};
use genkai_model::limit::Law;

use crate::{clean, figure, words};

/// What each proposed change takes; of one that lets more clients in, that nobody measured it.
pub(super) fn said(v: &Verdict) -> Vec<String> {
    v.proposal.iter().filter_map(|proposed| of(proposed, v)).collect()
}

fn of(proposed: &ProposedChange, v: &Verdict) -> Option<String> {
    let name = words::change(&proposed.change);
    if let Some(price) = &proposed.price {
        return Some(format!("{name}: {}.{}", taken(price), tested(price)));
    }
    let clients = |cause: &Cause| {
        let counts = matches!(cause.limit.law, Law::Slots { .. } | Law::Workers { .. } | Law::Growing { .. });
        cause.limit.id == proposed.limit && counts
    };
    let unknown = || format!("{name}: what that takes of memory was not measured, so memory bounds nothing here.");
    v.causes.iter().any(clients).then(unknown)
}

fn taken(price: &Price) -> String {
    let memory = &price.memory;
    let each = format!("{} a client", figure::bytes(memory.client));
    let each = memory.process.map_or(each.clone(), |bytes| format!("{each}, {} a process", figure::bytes(bytes)));
    let whose = memory.group.map_or_else(
        || "of this machine".to_owned(),
        |limit| format!("of the {} of its control group", figure::bytes(limit)),
    );
    let behind = price.behind.map(|most| {
        format!("; what stands behind it is then asked for up to {} requests at once", figure::whole(most))
    });
    format!(
        "{} of memory more with all of it used by {} clients ({each}; PSS without pages of files, beyond the {} of {} clients in trial {}), of {} left {whose}; {} \
         descriptors more{}",
        figure::bytes(memory.more),
        figure::whole(price.full),
        figure::bytes(memory.taken),
        figure::whole(price.clients),
        price.trial,
        figure::bytes(memory.left),
        figure::whole(price.descriptors.more),
        behind.unwrap_or_default(),
    )
}

fn tested(price: &Price) -> String {
    let Some(tested) = price.tested else { return String::new() };
    format!(
        " With it in place, {} clients took {} in trial {}, where {} were predicted.",
        figure::whole(tested.clients),
        figure::bytes(tested.taken),
        tested.trial,
        figure::bytes(tested.predicted),
    )
}

/// What the memory does not hold.
pub(super) fn bound(setting: &str, [value, needed]: [f64; 2], [bytes, left]: [f64; 2], group: Option<f64>) -> String {
    let whose = group.map_or_else(
        || "of this machine's memory".to_owned(),
        |limit| format!("of the {} of its control group", figure::bytes(limit)),
    );
    format!(
        "{setting} is not raised above {}, because of memory: {} would be needed, which takes {} more, and {} are left {whose}, a fifth of \
         which is kept free.",
        figure::whole(value),
        figure::whole(needed),
        figure::bytes(bytes),
        figure::bytes(left),
        setting = clean::line(setting),
    )
}

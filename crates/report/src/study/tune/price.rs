//! What a proposal takes, in words.

use genkai_model::finding::{
    GrewServing, MeasuredPrice, Onward, OnwardLimit, OnwardPrice, Price, ProposedChange, Taken, TestedPrice, Verdict,
};

use crate::{clean, figure, words};

/// What each proposed change takes, or that nobody measured it.
pub(super) fn said(v: &Verdict) -> Vec<String> {
    let onward = |one: &ProposedChange| one.onward.as_ref().map(onward).unwrap_or_default();
    v.proposal.iter().map(|one| format!("{}{}{}", of(one), descriptors_alone(one), onward(one))).collect()
}

/// Descriptors, where nothing is known of memory.
fn descriptors_alone(proposed: &ProposedChange) -> String {
    let Some(alone) = proposed.descriptors else { return String::new() };
    let Some(more) = known(alone.more, alone.full - alone.clients) else { return String::new() };
    format!(
        " Computed: {} descriptors more with all of it used by {} clients, beyond the {} of {} clients in trial {}; memory did not grow with the \
         clients there.",
        figure::whole(more),
        figure::whole(alone.full),
        figure::whole(alone.held),
        figure::whole(alone.clients),
        alone.trial,
    )
}

/// What the next tier had to bear, and what is known that it serves at once.
fn onward(price: &OnwardPrice) -> String {
    let (subject, before, after) = (clean::line(&price.subject), &price.before, &price.after);
    if before.connections < 1.0 && after.connections < 1.0 {
        return format!(
            " {subject} held no connections to other servers whenever it was looked at ({}).",
            looks(after)
        );
    }
    let at =
        |seen: &Onward| format!("{} with {} clients", figure::whole(seen.connections), figure::whole(seen.clients));
    let known: Vec<String> = price.known.iter().map(serves).collect();
    let known = if known.is_empty() { "how many these bear is not known".to_owned() } else { known.join("; ") };
    format!(
        " Connections that {subject} held to other servers, at most: {} ({}) with it, {} ({}) before; {known}.",
        at(after),
        looks(after),
        at(before),
        looks(before),
    )
}

fn looks(seen: &Onward) -> String {
    let looks = if seen.looks == 1 { "look" } else { "looks" };
    format!("trial {}, {} {looks}", seen.trial, seen.looks)
}

fn serves(known: &OnwardLimit) -> String {
    let name =
        format!("{}'s {} = {}", clean::line(&known.subject), clean::line(&known.setting), clean::line(&known.value));
    format!("{name} serves {} at once", figure::whole(known.at_once))
}

fn of(proposed: &ProposedChange) -> String {
    let name = words::change(&proposed.change);
    if let Some(price) = &proposed.price {
        return match price.tested {
            Some(tested) if tested.refuted => format!("{name}: {}.", refuted(price, &tested)),
            _ => format!("{name}: {}.{}", taken(price), tested_too(price)),
        };
    }
    if let Some((measured, grew)) = proposed.measured.as_ref().and_then(|seen| Some((seen, seen.grew?))) {
        return format!("{name}: {}.", grown(measured, grew));
    }
    if let Some(measured) = &proposed.measured {
        return format!("{name}: {}.", seen(measured));
    }
    format!("{name}: what that takes of memory was not measured, so memory bounds nothing here.")
}

/// That what was taken says nothing of the change.
fn grown(measured: &MeasuredPrice, grew: GrewServing) -> String {
    format!(
        "what that takes of memory is not known: memory grew with the requests served, while the clients stayed as many (trial {}): {} in trial {}, \
         {} in trial {} (PSS without pages of files)",
        grew.trial,
        figure::bytes(measured.before.memory),
        measured.before.trial,
        figure::bytes(measured.after.memory),
        measured.after.trial,
    )
}

/// What was taken before and with it, as it was seen.
fn seen(measured: &MeasuredPrice) -> String {
    let side = |taken: &Taken| {
        format!(
            "{} of memory and at most {} descriptors with {} clients (trial {})",
            figure::bytes(taken.memory),
            figure::whole(taken.descriptors),
            figure::whole(taken.clients),
            taken.trial,
        )
    };
    format!(
        "measured: with it {}, before {}; {} of memory were left (PSS without pages of files)",
        side(&measured.after),
        side(&measured.before),
        figure::bytes(measured.left),
    )
}

/// What the next tier must bear.
fn behind(most: Option<f64>) -> Option<String> {
    most.map(|most| {
        format!(
            "; what stands behind it is then asked for at most {} requests at once by such clients",
            figure::whole(most)
        )
    })
}

/// What the figures of memory count.
fn counted(price: &Price) -> &'static str {
    match price.memory.kernel {
        Some(_) => "PSS without pages of files, and what the kernel takes for that, reckoned",
        None => "PSS without pages of files",
    }
}

fn taken(price: &Price) -> String {
    let memory = &price.memory;
    let each = format!("{} a client", figure::bytes(memory.client));
    let each = memory.process.map_or(each.clone(), |bytes| format!("{each}, {} a process", figure::bytes(bytes)));
    let whose = memory.group.map_or_else(
        || "of this machine".to_owned(),
        |limit| format!("of the {} of its control group", figure::bytes(limit)),
    );
    let descriptors = descriptors(price).map(|more| format!("; {} descriptors more", figure::whole(more)));
    format!(
        "computed: {} of memory more with all of it used by {} clients ({each}; {}, beyond the {} of {} clients in trial {}), of {} left \
         {whose}{}{}",
        figure::bytes(memory.more),
        figure::whole(price.full),
        counted(price),
        figure::bytes(memory.taken),
        figure::whole(price.clients),
        price.trial,
        figure::bytes(memory.left),
        descriptors.unwrap_or_default(),
        behind(price.behind).unwrap_or_default(),
    )
}

/// Most descriptors that a client takes of a server: its own connection, and the one to what stands behind.
const DESCRIPTORS: f64 = 2.0;

/// Descriptors more; none where clients that were not served held some, too, so that what one takes is not known.
fn descriptors(price: &Price) -> Option<f64> {
    known(price.descriptors.more, price.full - price.clients)
}

fn known(more: f64, clients: f64) -> Option<f64> {
    let more = more.ceil();
    (more <= clients.max(0.0) * DESCRIPTORS).then_some(more)
}

/// What was measured, where the computation of memory does not hold. That of descriptors has nothing to do with it.
fn refuted(price: &Price, tested: &TestedPrice) -> String {
    let more = descriptors(price).map(|more| {
        format!(
            "; computed: {} descriptors more with all of it used by {} clients",
            figure::whole(more),
            figure::whole(price.full)
        )
    });
    let memory = format!(
        "with it in place, {} clients took {} of memory in trial {}, where {} clients had taken {} in trial {} ({}); {} had been computed, \
         so what it takes of memory with all of it used is not told",
        figure::whole(tested.clients),
        figure::bytes(tested.taken),
        tested.trial,
        figure::whole(price.clients),
        figure::bytes(price.memory.taken),
        price.trial,
        counted(price),
        figure::bytes(tested.predicted),
    );
    memory + &more.unwrap_or_default()
}

fn tested_too(price: &Price) -> String {
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

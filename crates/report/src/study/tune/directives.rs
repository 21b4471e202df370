//! What leaving out directives showed, in words.

use genkai_model::event::{Directive, Trying};
use genkai_model::finding::{Bisected, BisectionEnd, Verdict};
use genkai_model::limit::Origin;
use genkai_model::load::Protocol;
use genkai_model::units::Span;

use crate::context::Context;
use crate::{clean, figure};

/// Most directives of a set that is not the smallest that are listed.
const LISTED: usize = 12;

/// The answer where the directives are proved.
pub(super) fn headline(context: Context<'_>, v: &Verdict) -> String {
    let Some(found) = &v.bisection else { return "Yes: directives of the configuration make it fail.".to_owned() };
    let named = each(&found.named);
    let said = match found.named.as_slice() {
        [_] => format!("Yes: change {named}: without it {}; with it {}.", holds(context, found), fails(context, found)),
        _ => format!(
            "Yes: change these {} directives: {named}: without them {}; with them {}.",
            found.named.len(),
            holds(context, found),
            fails(context, found)
        ),
    };
    format!("{said}{}", same(context, found))
}

/// What one WebSocket was tried for; none: it is no load of these.
fn opened(context: Context<'_>) -> Option<&'static str> {
    let Protocol::WebSocket(websocket) = &context.head?.plan.load.protocol else { return None };
    Some(match websocket.message {
        Some(_) => "opened, and a message on it comes back",
        None => "opened",
    })
}

/// That it may be another page that is answered, where contents do not tell.
fn same(context: Context<'_>, found: &Bisected) -> String {
    if found.compared || opened(context).is_some() {
        return String::new();
    }
    format!(
        " Whether without {} the same page is answered is not certain: contents of some answers could not be compared, only their status.",
        them(found)
    )
}

/// The answer where one of them at least protects something.
pub(super) fn guarded(context: Context<'_>, v: &Verdict) -> String {
    let Some(found) = &v.bisection else { return "Cannot tell: requests meet an access control.".to_owned() };
    let of = |protects: bool| found.named.iter().filter(|one| one.protects == protects).cloned().collect::<Vec<_>>();
    let (guards, others) = (of(true), of(false));
    let (them, they) = if found.named.len() == 1 { ("it", "it") } else { ("them", "they") };
    let they = if guards.len() == 1 && !others.is_empty() { "it" } else { they };
    let beside = if others.is_empty() { String::new() } else { format!(", beside {}", each(&others)) };
    format!(
        "Cannot tell what to change: what requests meet is {}{beside}: without {them} {}; with {them} {}. But {they} may protect something, and \
         genkai does not propose to take that out: look at what it asks, and at the limits there.{}",
        each(&guards),
        holds(context, found),
        fails(context, found),
        same(context, found)
    )
}

fn holds(context: Context<'_>, found: &Bisected) -> String {
    match found.tried_by {
        Trying::Request { within } => match opened(context) {
            Some(opened) => format!("a WebSocket is {opened} within {within}"),
            None => format!("a request is answered as it should be within {within}"),
        },
        Trying::Load { level, hold, .. } => {
            format!("`{}` held at {} for {hold}", clean::line(&context.objective()), context.level(level))
        }
    }
}

fn fails(context: Context<'_>, found: &Bisected) -> String {
    match found.tried_by {
        Trying::Request { .. } => "it is not".to_owned(),
        Trying::Load { level, within, .. } => {
            format!("it fails at {}{}", context.level(level), waited(within))
        }
    }
}

/// That answers are waited for less long than in the load asked for.
fn waited(within: Option<Span>) -> String {
    within.map(|within| format!(", each answer waited for {within} at most")).unwrap_or_default()
}

/// What was tried, and what it is worth; nothing where none were left out.
pub(super) fn told(context: Context<'_>, v: &Verdict) -> Option<String> {
    let found = v.bisection.as_ref()?;
    let tried = figure::plural(found.tried, "configuration", "configurations");
    let of = match found.directives {
        1 => "The one directive in force was left out of the private copy".to_owned(),
        many => {
            format!("Of {} directives in force, some were left out of the private copy at a time", figure::count(many))
        }
    };
    let without = [(found.refused, "not accepted"), (found.altered, "not answered as requests should be")];
    let apart: Vec<String> = without
        .iter()
        .filter(|(many, _)| *many > 0)
        .map(|(many, what)| format!("{} {what}", figure::count(*many)))
        .collect();
    let apart = if apart.is_empty() { String::new() } else { format!(" ({})", apart.join(", ")) };
    let by = match found.tried_by {
        Trying::Request { within } => match opened(context) {
            Some(_) => format!("by one WebSocket each, to be served within {within}"),
            None => format!("by one request each, to be answered within {within}"),
        },
        Trying::Load { level, hold, within, .. } => {
            format!("by {} for {hold} each{}", context.level(level), waited(within))
        }
    };
    let compared = if found.compared || opened(context).is_some() {
        ""
    } else {
        "; the content of some answers at least was not compared, only their status"
    };
    Some(format!("{of}: {tried} tried{apart}, {by}; {} were given to it{compared}. {}", found.budget, worth(found)))
}

/// What the search came to.
fn worth(found: &Bisected) -> String {
    match found.ended {
        BisectionEnd::Proved => {
            format!(
                "Without what is named it held, with all in place it failed again, and without {} it held again. The search ends with the \
                 first such set: leaving out another directive may heal it as well.",
                them(found)
            )
        }
        BisectionEnd::NotFailing => "With all of them in place it did not fail when it was tried so, so nothing can be told.".to_owned(),
        BisectionEnd::Untold => "With all of them in place it could not be told whether it fails: the generator or other programs were in the way.".to_owned(),
        BisectionEnd::Unsteady => "With all of them in place a request alone was not answered as it should be, where others had been: what fails \
                                   comes and goes, so that leaving out directives tells nothing."
            .to_owned(),
        BisectionEnd::Undecided if found.named.is_empty() => {
            "Of some sets it could not be told whether it holds without them (the generator or other programs were in the way), and of the others \
             none made it hold: nothing is named."
                .to_owned()
        }
        BisectionEnd::Undecided => format!(
            "Once it held without {}; {} could not be told (the generator or other programs were in the way): {} innocent, and nothing is \
             proved.",
            each(&found.named),
            if found.named.len() == 1 { "whether it does so again" } else { "whether it does so again, or all of them are needed for that," },
            if found.named.len() == 1 { "it may be" } else { "some of them may be" }
        ),
        BisectionEnd::Chance => format!(
            "Each time it was tried, it held without {} and failed with all in place; but so few requests failed there that they may have by chance: \
             nothing is proved.",
            each(&found.named)
        ),
        BisectionEnd::NotReproduced => format!(
            "Once it held without {}, but tried again it did not fail with all in place, or did not hold without {}: nothing is proved.",
            each(&found.named),
            them(found)
        ),
        BisectionEnd::Nothing if found.kept > 0 => without(found),
        BisectionEnd::Nothing => "None of the sets that were left out made it hold: the cause may be what stands behind, the network, this machine, or \
                                  what cannot be left out; or one of them, where without it something else fails at the same load."
            .to_owned(),
        BisectionEnd::Unfinished if found.named.is_empty() && found.directives == 1 => {
            "It ended (its time was over, or the run was stopped) before it was known whether it holds without it: it may still be the cause."
                .to_owned()
        }
        BisectionEnd::Unfinished if found.named.is_empty() => {
            format!(
                "It ended (its time was over, or the run was stopped) before any set was found without which it holds: each of the {} may \
                 still be the cause.",
                figure::count(found.directives)
            )
        }
        BisectionEnd::Unfinished => {
            let one = if found.named.len() == 1 { "once it held without this one" } else { "once it held without these" };
            format!("It ended (its time was over, or the run was stopped) before it was proved; {one}: {}.", each(&found.named))
        }
    }
}

fn them(found: &Bisected) -> &'static str {
    if found.named.len() == 1 { "it" } else { "them" }
}

/// What it is worth where some directives could not be left out.
fn without(found: &Bisected) -> String {
    let it = if found.kept == 1 { "it" } else { "them" };
    let why =
        format!("without {it} the configuration was not accepted, or a request alone was not answered as it should be");
    match found.directives - found.kept {
        0 if found.kept == 1 => format!("The one directive could not be left out ({why}): nothing is known of it."),
        0 => format!("None of them could be left out ({why}): nothing is known of any of them."),
        _ => format!(
            "None of the sets that were left out made it hold, but of {} nothing is known: {why}. The cause may be there, or in what stands \
             behind, the network, this machine, or what is never left out.",
            figure::plural(found.kept, "directive", "directives")
        ),
    }
}

/// Directives with their places.
fn each(all: &[Directive]) -> String {
    let one = |directive: &Directive| match &directive.origin {
        Origin::File { path, line } => {
            format!("`{}` ({}:{line})", clean::line(&directive.text), clean::line(&path.display().to_string()))
        }
        _ => format!("`{}`", clean::line(&directive.text)),
    };
    let listed: Vec<String> = all.iter().take(LISTED).map(one).collect();
    let more = all.len().saturating_sub(LISTED);
    if more > 0 { format!("{} and {more} more", listed.join(", ")) } else { listed.join(", ") }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn found(directives: u64, kept: u64, ended: BisectionEnd) -> String {
        worth(&Bisected {
            directives,
            tried: 3,
            refused: kept,
            altered: 0,
            kept,
            tried_by: Trying::Request { within: Span::from_secs(1) },
            budget: Span::from_secs(60),
            named: Vec::new(),
            ended,
            compared: true,
        })
    }

    #[test]
    fn of_one_directive_it_is_told_as_of_one() {
        let nothing = |directives, kept| found(directives, kept, BisectionEnd::Nothing);
        let one = nothing(4, 1);
        assert!(one.contains("of 1 directive nothing is known: without it the configuration"), "{one}");
        assert!(nothing(4, 2).contains("of 2 directives nothing is known: without them the"), "{}", nothing(4, 2));
        assert!(nothing(1, 1).ends_with("nothing is known of it."), "{}", nothing(1, 1));
        assert!(nothing(2, 2).ends_with("nothing is known of any of them."), "{}", nothing(2, 2));
        let cut = |directives| found(directives, directives, BisectionEnd::Unfinished);
        assert!(cut(1).ends_with("it may still be the cause.") && cut(3).contains("each of the 3 may"), "{}", cut(1));
    }
}

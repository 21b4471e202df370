//! Which directives are left out first: those of a kind of which there are few. What a file has many of (header fields, variables) is seldom what
//! fails, and to leave the others out at once spares most of the steps where it is not.

use std::collections::BTreeMap;

use genkai_model::event::Directive;

/// So many of a kind are few.
const FEW: usize = 3;

/// Their positions; empty where all are, or none is.
pub fn few_of_a_kind(directives: &[Directive]) -> Vec<u32> {
    let kinds: Vec<Kind<'_>> = directives.iter().map(|one| kind(&one.text)).collect();
    let (mut names, mut alike): (BTreeMap<&str, usize>, BTreeMap<Kind<'_>, usize>) = Default::default();
    for kind in &kinds {
        *names.entry(kind.0).or_default() += 1;
        *alike.entry(*kind).or_default() += 1;
    }
    let mut crowded: BTreeMap<&str, usize> = BTreeMap::new();
    alike.iter().filter(|(_, many)| **many > FEW).for_each(|(kind, many)| *crowded.entry(kind.0).or_default() += many);
    let is_few = |kind: &Kind<'_>| {
        let (named, crowd) = (names[kind.0], crowded.get(kind.0).copied().unwrap_or(0));
        // Where most of a name are of the same kinds (`http-request set-header`), its others are few.
        named <= FEW || (crowd * 2 >= named && alike[kind] <= FEW)
    };
    let few: Vec<u32> = (0..).zip(&kinds).filter(|(_, kind)| is_few(kind)).map(|(at, _)| at).collect();
    if few.len() == kinds.len() { Vec::new() } else { few }
}

/// A directive's name, and its first argument up to a bracket.
type Kind<'t> = (&'t str, &'t str);

fn kind(text: &str) -> Kind<'_> {
    let mut words = text.split_whitespace();
    let name = words.next().unwrap_or_default();
    let argument = words.next().unwrap_or_default();
    (name, argument.split('(').next().unwrap_or_default())
}

#[cfg(test)]
mod tests {
    use genkai_model::limit::Origin;

    use super::*;

    fn few<'t>(texts: &[&'t str]) -> Vec<&'t str> {
        let of = |text: &&str| Directive { text: (*text).to_owned(), origin: Origin::Given, protects: false };
        let all: Vec<Directive> = texts.iter().map(of).collect();
        few_of_a_kind(&all).into_iter().map(|at| texts[at as usize]).collect()
    }

    #[test]
    fn those_of_a_kind_of_which_there_are_few() {
        let headers = ["add_header A 1", "add_header B 1", "add_header C 1", "add_header D 1"];
        assert_eq!(few(&[&headers[..], &["limit_rate 4k"]].concat()), ["limit_rate 4k"]);
        let rules = [
            "http-request set-var(a) x",
            "http-request set-var(b) x",
            "http-request set-var(c) x",
            "http-request set-var(d) x",
        ];
        let few_rules = ["http-request lua.slow", "http-request deny if bad"];
        assert_eq!(
            few(&[&rules[..], &few_rules, &["acl bad src 10.0.0.1"]].concat()),
            [&few_rules[..], &["acl bad src 10.0.0.1"]].concat()
        );
    }

    #[test]
    fn nothing_is_divided_where_all_are_alike() {
        assert!(few(&["a 1", "b 2", "c 3"]).is_empty(), "all are few");
        assert!(few(&["a 1", "a 2", "a 3", "a 4"]).is_empty(), "none is");
        assert!(few(&[]).is_empty());
    }
}

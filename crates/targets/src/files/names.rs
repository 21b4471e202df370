//! Names that a product knows, and the nearest to one that it does not.

/// Names at least so alike are suggested (Jaro-Winkler; 1 is equal).
const SIMILAR: f64 = 0.85;

/// A table of names, one a line with what belongs to each: `NAME WORD,WORD`.
pub(crate) fn table(text: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    text.lines().filter_map(|line| line.split_once(' '))
}

/// At most so many names are suggested.
const SUGGESTED: usize = 3;

/// The most similar of `names`, best first; each with another by which it may be meant.
pub(crate) fn near(name: &str, names: impl Iterator<Item = (&'static str, &'static str)>) -> Vec<&'static str> {
    let name = name.to_ascii_lowercase();
    let likeness = |one: &str| strsim::jaro_winkler(&one.to_ascii_lowercase(), &name);
    let scored = names.map(|(one, other)| (likeness(one).max(likeness(other)), one));
    let mut scored: Vec<_> = scored.filter(|(likeness, _)| *likeness >= SIMILAR).collect();
    scored.sort_by(|a, b| b.0.total_cmp(&a.0));
    scored.into_iter().take(SUGGESTED).map(|(_, name)| name).collect()
}

/// The most similar of `names`; none where nothing is similar.
pub(crate) fn nearest(name: &str, names: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    near(name, names.map(|one| (one, one))).into_iter().next()
}

//! Names that a product knows, and the nearest to one that it does not.

/// Names at least so alike are suggested (Jaro-Winkler; 1 is equal).
const SIMILAR: f64 = 0.85;

/// A table of names, one a line with what belongs to each: `NAME WORD,WORD`.
pub(crate) fn table(text: &'static str) -> impl Iterator<Item = (&'static str, &'static str)> {
    text.lines().filter_map(|line| line.split_once(' '))
}

/// The most similar of `names`; none where nothing is similar.
pub(crate) fn nearest(name: &str, names: impl Iterator<Item = &'static str>) -> Option<&'static str> {
    let name = name.to_ascii_lowercase();
    let scored = names.map(|n| (strsim::jaro_winkler(&n.to_ascii_lowercase(), &name), n));
    scored.filter(|(likeness, _)| *likeness >= SIMILAR).max_by(|a, b| a.0.total_cmp(&b.0)).map(|(_, n)| n)
}

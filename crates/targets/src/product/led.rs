//! Copies that lead elsewhere than their configuration says.

use std::collections::BTreeSet;
use std::io;

use super::Prepared;
use crate::error::TargetError;
use crate::files::Move;
use genkai_place::endpoint::Endpoint;

/// Each of these places once, led to another.
pub(crate) fn moves(
    all: Vec<Endpoint>,
    place: &mut dyn FnMut(&Endpoint, &Endpoint) -> io::Result<Endpoint>,
) -> io::Result<Vec<Move>> {
    let each: BTreeSet<Endpoint> = all.into_iter().collect();
    each.into_iter().map(|from| place(&from, &from).map(|to| Move { from, to })).collect()
}

/// A product whose copy was to lead elsewhere.
///
/// # Errors
/// When it leads on where its configuration says.
pub(crate) fn is_led(product: Box<dyn Prepared>, moves: &[Move]) -> Result<Box<dyn Prepared>, TargetError> {
    let named = |one: &Move| product.rewrites().iter().any(|rewrite| names(&rewrite.to, &one.to));
    match moves.iter().all(named) {
        true => Ok(product),
        false => Err(TargetError::usage(product.product(), "a private copy of it cannot be led elsewhere")),
    }
}

/// Whether a line names a place: in one word, or host and port in two.
pub(crate) fn names(line: &str, place: &Endpoint) -> bool {
    let Endpoint::Tcp(at) = place else { return place.socket().is_some_and(|path| line.contains(&path)) };
    let word = |wanted: String| line.split_whitespace().any(|word| word.trim_matches(['"', ';']) == wanted);
    line.contains(&place.to_string()) || (word(at.ip().to_string()) && word(at.port().to_string()))
}

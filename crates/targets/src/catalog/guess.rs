//! Whose configuration a file is: the product that knows every statement of it. Where two do, or none knows most of it, nobody is guessed.

use std::path::Path;

use super::PRODUCTS;
use crate::error::TargetError;

/// A product of which fewer statements are known than this share of a file's lines is not considered.
const LEAST: f64 = 0.5;

/// Whose configuration a file or folder is.
///
/// # Errors
/// When it cannot be read, no product knows most of it, or several know all of it.
pub fn guess(main: &Path) -> Result<&'static str, TargetError> {
    if let Some(product) = by_name(main) {
        return Ok(product);
    }
    let bytes =
        std::fs::read(main).map_err(|e| TargetError::usage("", format!("cannot read {}: {e}", main.display())))?;
    let text = String::from_utf8_lossy(&bytes);
    match &of_text(&text)[..] {
        [one] => Ok(*one),
        several => Err(undecided(main, several)),
    }
}

/// By what a file or folder is called. Who knows one name in a folder comes after who takes any folder.
fn by_name(main: &Path) -> Option<&'static str> {
    PRODUCTS.iter().rev().find(|entry| (entry.looks.named)(main)).map(|entry| entry.name)
}

/// The products that a text may be of: the only one that knows all of it, else each that knows most of it.
fn of_text(text: &str) -> Vec<&'static str> {
    let shares = PRODUCTS.iter().filter_map(|entry| Some((entry.name, entry.looks.grammar.as_ref()?.share(text))));
    let likely: Vec<(&'static str, f64)> = shares.filter(|(_, share)| *share >= LEAST).collect();
    let whole: Vec<_> = likely.iter().filter(|(_, share)| *share == 1.0).map(|(product, _)| *product).collect();
    if whole.is_empty() { likely.into_iter().map(|(product, _)| product).collect() } else { whole }
}

fn undecided(main: &Path, several: &[&str]) -> TargetError {
    let hint = "name the product: --product, or `product:` in a file of systems";
    let why = match several {
        [] => "no product that genkai knows has most of the names in it".to_owned(),
        _ => format!("it can be one of {}", several.join(", ")),
    };
    TargetError::usage("", format!("cannot tell whose configuration {} is: {why}\n  hint: {hint}", main.display()))
}

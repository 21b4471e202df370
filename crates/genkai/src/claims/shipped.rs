//! The claims that genkai ships: those of the folder `claims` of its source.

use std::path::Path;

use genkai_model::claim::Claim;
use genkai_targets::catalog;

use crate::Failure;

/// Their files: name and text, in order of their names (build.rs).
const FILES: &[(&str, &str)] = include!(concat!(env!("OUT_DIR"), "/claims.rs"));

/// All of them, in order of their names; with `product`, those about it.
///
/// # Errors
/// When one is not well written.
pub(crate) fn all(product: Option<&str>) -> Result<Vec<Claim>, Failure> {
    let products: Vec<&str> = catalog::proxies().collect();
    let read = |(file, text): &(&str, &str)| {
        genkai_scenario::claim(file, text, Path::new(""), &products).map_err(|fault| Failure::usage(fault.to_string()))
    };
    let about = |claim: &Claim| product.is_none_or(|product| claim.system.product == product);
    let mut all = FILES.iter().map(read).collect::<Result<Vec<_>, _>>()?;
    all.retain(about);
    Ok(all)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_file_of_the_folder_is_shipped_and_well_written() {
        let folder = Path::new(env!("CARGO_MANIFEST_DIR")).join("../../claims");
        let entries = std::fs::read_dir(folder).unwrap().flatten();
        let mut names: Vec<String> = entries.map(|entry| entry.file_name().to_string_lossy().into_owned()).collect();
        names.sort();
        assert_eq!(names, FILES.iter().map(|(name, _)| (*name).to_owned()).collect::<Vec<_>>());
        let (every, apache) =
            (all(None).unwrap_or_else(|f| panic!("{}", f.message)), all(Some("apache")).unwrap_or_default());
        assert_eq!(every.len(), FILES.len());
        assert!(!apache.is_empty() && apache.len() < every.len());
    }
}

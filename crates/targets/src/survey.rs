//! The servers that `genkai doctor` looks for.

use genkai_place::survey::Known;

use crate::catalog::PRODUCTS;

/// Servers that genkai knows but does not run.
const OTHERS: [(&str, &[&str]); 2] = [("lighttpd", &["-v"]), ("node", &["--version"])];

/// Servers that genkai knows; it can put those that are testable under test.
pub fn known() -> Vec<Known> {
    let known = |(program, version), testable| Known { program, version, testable };
    let asked = PRODUCTS.iter().filter(|entry| !entry.program.1.is_empty());
    let products = asked.map(|entry| known(entry.program, entry.proxy().is_some()));
    products.chain(OTHERS.map(|other| known(other, false))).collect()
}

//! Looking at a comparison more than once without fooling oneself.
//!
//! Who looks after every block, and stops when a difference "is significant", finds one in the end even where there is none. So
//! the error rate is spent: each look may use a part of it, the parts together are the whole. How much has been spent by a
//! look depends on how many blocks there are and not on what they show (an alpha spending function: Lan and DeMets, Biometrika
//! 70, 1983; here the linear one). Parts are added up (Bonferroni's inequality), which holds whatever the dependence between looks and for
//! Student's t of few blocks, where the tables of boundaries assume a known variance. It costs some width of the intervals.
//!
//! A look that was not planned (the user interrupts) spends what has come due since the last one: its time depends on the
//! user, not on the figures.

/// The part of `alpha` for judging after `blocks` blocks; `looks` are the planned numbers of blocks, ascending. None for no
/// blocks or no looks.
pub fn part(looks: &[u32], blocks: u32, alpha: f64) -> Option<f64> {
    let most = *looks.last()?;
    let blocks = blocks.min(most);
    let before = looks.iter().rev().find(|look| **look < blocks).copied().unwrap_or(0);
    (blocks > 0).then(|| alpha * f64::from(blocks - before) / f64::from(most))
}

/// Whether a look is planned after `blocks` blocks.
pub fn is_look(looks: &[u32], blocks: u32) -> bool {
    looks.contains(&blocks)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn all_looks_together_spend_the_whole() {
        let looks = [4, 6, 10];
        let parts: Vec<f64> = looks.iter().map(|look| part(&looks, *look, 0.05).unwrap()).collect();
        assert!((parts.iter().sum::<f64>() - 0.05).abs() < 1e-12, "{parts:?}");
        assert!((parts[0] - 0.02).abs() < 1e-12);
    }

    #[test]
    fn an_unplanned_look_spends_what_came_due() {
        let looks = [4, 6, 10];
        assert!((part(&looks, 5, 0.05).unwrap() - 0.005).abs() < 1e-12);
        assert!((part(&looks, 3, 0.05).unwrap() - 0.015).abs() < 1e-12);
        assert_eq!(part(&looks, 12, 0.05), part(&looks, 10, 0.05), "there is no more than the whole");
        assert_eq!((part(&looks, 0, 0.05), part(&[], 3, 0.05)), (None, None));
    }
}

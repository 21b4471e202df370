//! What is told where a place or an order is not known.

use crate::words::with;

#[test]
fn which_of_two_limits_comes_first_is_not_told_where_nobody_knows() {
    let text = with(Vec::new(), |s| {
        let v = &mut s.findings.verdict;
        let mut other = v.next.clone().expect("a next limit");
        (other.setting, other.value) = ("buffers".to_owned(), "15".to_owned());
        v.next_or = vec![other];
    });
    assert!(text.contains("It cannot be told whether nginx's buffers = 15 (predicted at"), "{text}");
    assert!(text.contains("may be met before it."), "{text}");
    assert!(!with(Vec::new(), |_| {}).contains("may be met before it"));
}

#[test]
fn a_break_before_which_nothing_was_answered_is_told_with_so_many_or_fewer() {
    let told = |or_fewer: bool| with(Vec::new(), move |s| s.findings.verdict.causes[0].broke.or_fewer = or_fewer);
    assert!(told(true).contains("243 users or fewer"), "{}", told(true));
    assert!(!told(false).contains("or fewer"));
}

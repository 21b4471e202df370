//! What a configuration of nginx looks like.

use crate::product::looks::{Grammar, Looks, Statement, first, lines, unnamed};

/// Blocks of nginx whose entries are data.
const DATA: &[&str] = &["types", "map", "geo", "split_clients", "charset_map"];

/// How its files are called and written.
pub(super) const LOOKS: Looks = Looks {
    named: unnamed,
    grammar: Some(Grammar { names: include_str!("explain/directives.txt"), more: &[], statements }),
};

/// Statements end with `;` or a brace, on whichever line.
fn statements(text: &str) -> Vec<Statement> {
    let mut all = Vec::new();
    let (mut open, mut count, mut data) = (String::new(), 0, 0_usize);
    for line in lines(text) {
        if data > 0 {
            data = (data + line.matches('{').count()).saturating_sub(line.matches('}').count());
            continue;
        }
        open = if count == 0 { first(line).trim_end_matches([';', '{']).to_owned() } else { open };
        count += 1;
        if !line.ends_with([';', '{', '}']) {
            continue;
        }
        if line.ends_with('{') && (DATA.contains(&open.as_str()) || open.ends_with("_by_lua_block")) {
            data = 1;
        }
        let statement = Statement { name: Some(open.to_owned()), lines: count };
        all.extend((!open.starts_with('}')).then_some(statement));
        count = 0;
    }
    all.extend((count > 0).then(|| Statement::foreign(count)));
    all
}

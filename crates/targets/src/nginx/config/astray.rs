//! Where a request may end of which it is not known where it goes: at any location of its server.

use super::flow::Way;
use super::variables::Value;
use super::{Found, Route};

impl<'a> Route<'a> {
    /// Why it is not known where some requests go; none: it is.
    pub fn lost(&self) -> Option<&str> {
        self.ways.iter().find_map(|way| way.lost.as_deref())
    }

    /// A way to each location of the server, and to each `if` in one, where it is not known where requests go; else none.
    pub fn anywhere(&self) -> Vec<Way<'a>> {
        let Some(way) = self.ways.iter().find(|way| way.lost.is_some()) else { return Vec::new() };
        let mut variables = way.variables.clone();
        // What was set on the way there is not known.
        (variables.uri, variables.args, variables.captures) = (None, None, Vec::new());
        for found in self.server.config.walk().iter().filter(|f| f.directive.is("set")) {
            let name = found.arg(0);
            name.into_iter().for_each(|name| variables.assign(&name, Value::unknown()));
        }
        let mut all = Vec::new();
        below(&self.server, &mut Vec::new(), &mut all);
        all.into_iter().map(|chain| Way::at(chain, variables.clone())).collect()
    }
}

/// The locations in a block, each with those around it.
fn below<'a>(block: &Found<'a>, around: &mut Vec<Found<'a>>, all: &mut Vec<Vec<Found<'a>>>) {
    all.push(around.clone());
    let within = |f: &Found<'a>| f.directive.is("location") || f.directive.is("if") && !around.is_empty();
    for found in block.inside().into_iter().filter(within).collect::<Vec<_>>() {
        around.push(found.clone());
        below(&found, around, all);
        around.pop();
    }
}

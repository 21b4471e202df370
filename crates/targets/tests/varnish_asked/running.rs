//! What a running Varnish says of itself: its backends (`backend.list`), the files of its VCL (`vcl.show`), its parameters (`param.show`).

use std::collections::{BTreeMap, BTreeSet};
use std::fs;

use genkai_model::explain::Explanation;
use genkai_model::limit::Origin;

use super::differential::{Draw, count, judged};
use super::{Varnish, compiled, explained, there, written};

/// The part of a JSON answer that says something: after the version, the command and the time.
fn answer(text: &str) -> Vec<serde_json::Value> {
    let all: serde_json::Value = serde_json::from_str(text).unwrap_or_else(|e| panic!("{e}: {text}"));
    all.as_array().unwrap().iter().skip(3).cloned().collect()
}

/// Values of parameters that genkai takes as they are by default, as it says them.
fn taken(explained: &Explanation) -> BTreeMap<String, f64> {
    let timers = explained.timers.iter().filter(|one| matches!(one.origin, Origin::Default(_)));
    let timers = timers.map(|one| {
        let name = one.setting.rsplit_once(": ").map_or(&*one.setting, |(_, name)| name);
        (name.to_owned(), one.span.map_or(0.0, |span| span.as_secs_f64()))
    });
    let limits = explained.limits.iter().filter(|limit| matches!(limit.origin, Origin::Default(_)));
    timers.chain(limits.filter_map(|limit| Some((limit.setting.clone(), limit.value.parse().ok()?)))).collect()
}

#[test]
fn what_a_running_varnish_says_of_itself_is_what_was_read() {
    if !there() {
        return;
    }
    let mut draw = Draw::seeded(72);
    let total = count(4);
    let dir = tempfile::tempdir().unwrap();
    let texts: Vec<(String, String)> = (0..total).map(|_| written(&mut draw)).collect();
    let (started, wrong) = judged(total, 2, |number| {
        let (main, more) = &texts[number];
        let at = dir.path().join(number.to_string());
        fs::create_dir_all(&at).unwrap();
        fs::write(at.join("default.vcl"), main).unwrap();
        fs::write(at.join("more.vcl"), more).unwrap();
        // A socket that is not there is looked for when it starts.
        let file = at.join("default.vcl");
        if main.contains(".path") || more.contains(".path") || compiled(&file, &at.join("n")).is_err() {
            return (false, None);
        }
        let explained = explained(&file).unwrap();
        let starts = !explained.remarks.iter().any(|remark| remark.text.contains("does not start"));
        let varnish = Varnish::start_with(main, more);
        if varnish.is_some() != starts {
            return (false, Some(format!("--- {number}: starts: genkai {starts}\n{main}--- more.vcl\n{more}")));
        }
        let Some(varnish) = varnish else { return (false, None) };
        let listed = answer(&varnish.says(&["backend.list", "-j"]));
        let theirs: BTreeSet<String> = listed
            .iter()
            .flat_map(|one| one.as_object().unwrap().iter())
            .filter(|(_, value)| value["type"] == "backend")
            .map(|(name, _)| name.trim_start_matches("boot.").to_owned())
            .collect();
        let named = explained.timers.iter().filter_map(|one| one.setting.strip_prefix("backend ")?.split_once(':'));
        let mine: BTreeSet<String> = named.map(|(name, _)| name.to_owned()).collect();
        let mut all = Vec::new();
        if mine != theirs {
            all.push(format!("backends: genkai {mine:?}, Varnish {theirs:?}"));
        }
        let shown = varnish.says(&["vcl.show", "-v", "boot"]);
        let files: BTreeSet<&str> = shown
            .lines()
            .filter_map(|line| line.strip_prefix("// VCL.SHOW ")?.splitn(3, ' ').nth(2))
            .map(|name| name.rsplit('/').next().unwrap_or(name))
            .filter(|name| *name != "Builtin" && *name != "<builtin>")
            .collect();
        let read: BTreeSet<&str> = explained.files.iter().filter_map(|file| file.file_name()?.to_str()).collect();
        if read != files {
            all.push(format!("files: genkai {read:?}, Varnish {files:?}"));
        }
        let parameters = answer(&varnish.says(&["param.show", "-j"]));
        for (name, mine) in taken(&explained) {
            let found = parameters.iter().find(|one| one["name"] == name.as_str());
            if let Some(theirs) = found.and_then(|one| one["value"].as_f64()).filter(|theirs| *theirs != mine) {
                all.push(format!("{name}: genkai {mine}, Varnish {theirs}"));
            }
        }
        (true, (!all.is_empty()).then(|| format!("--- {number}\n{}\n{main}--- more.vcl\n{more}", all.join("\n"))))
    });
    println!("{total} VCLs, {started} started, {} differences", wrong.len());
    assert!(wrong.is_empty(), "{}", wrong.into_iter().take(8).collect::<Vec<_>>().join("\n"));
    assert!(started * 6 >= total, "too few start for the comparison to mean something");
}

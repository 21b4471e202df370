//! Writes every report of a made-up run (experiment 1) into a folder, to look at: `cargo run --example sample -- DIR`.

#[path = "../tests/fixture/mod.rs"]
mod fixture;

use std::path::PathBuf;
use std::{env, fs, io};

use genkai_report::text::Style;
use genkai_report::{html, json, study, svg, text};

fn main() -> io::Result<()> {
    let args: Vec<String> = env::args().skip(1).collect();
    let dir = PathBuf::from(args.first().map_or("genkai-sample", String::as_str));
    fs::create_dir_all(&dir)?;
    let s = fixture::experiment(0.2);
    fs::write(dir.join("report.html"), html::page(s.record.head.as_ref(), &study::tune(&s.record, &s.findings)))?;
    for (n, figure) in svg::figures(s.record.head.as_ref(), &study::tune(&s.record, &s.findings)).iter().enumerate() {
        fs::write(dir.join(format!("figure-{}.svg", n + 1)), &figure.svg)?;
    }
    fs::write(
        dir.join("verdict.json"),
        json::finding(&s.findings.verdict, &study::sentences(&s.findings, &s.record), &[]),
    )?;
    let lines: Vec<String> = s.events.iter().map(|e| serde_json::to_string(e).expect("events serialise")).collect();
    fs::write(dir.join("run.jsonl"), lines.join("\n") + "\n")?;
    for (name, s) in fixture::stories::all() {
        fs::write(
            dir.join(format!("{name}.html")),
            html::page(s.record.head.as_ref(), &study::tune(&s.record, &s.findings)),
        )?;
    }
    let rooms = fixture::rooms::finding();
    fs::write(dir.join("rooms.html"), html::page(s.record.head.as_ref(), &study::rooms(&s.record, &rooms)))?;
    let style = Style { color: env::var_os("NO_COLOR").is_none(), width: 80 };
    print!("{}", text::document(&study::tune(&s.record, &s.findings), style));
    Ok(())
}

//! What `genkai doctor` prints, on a fixed checkup.

use genkai_model::machine::{Checkup, Holds, Item, Machine, Raise, State};
use genkai_report::study;
use genkai_report::text::{self, Style};

fn doctor(checkup: &Checkup, style: Style) -> String {
    text::document(&study::doctor(checkup), style)
}

fn item(name: &str, state: State, raise: Option<Raise>) -> Item {
    let (value, means) = ("128".to_owned(), "bursts of new connections beyond it are dropped".to_owned());
    Item { name: name.to_owned(), value, means, state, raise }
}

fn checkup() -> Checkup {
    let raise = Raise {
        command: "sysctl -w net.core.somaxconn=\"4096\"".to_owned(),
        root: true,
        changes: "the whole machine, until it starts again".to_owned(),
    };
    let machine = Machine {
        kernel: "Linux 6.1.0 x86_64".to_owned(),
        os: "Debian \u{1b}[31mGNU/Linux 12".to_owned(),
        ..Machine::default()
    };
    Checkup {
        machine,
        holds: Holds { one_process: 19_928, all: 1_200_000, ..Holds::default() },
        asked: Some(100_000),
        flags: Some("--connections 100000 --processes 6".to_owned()),
        good: false,
        items: vec![
            item("cores", State::Good, None),
            item("net.core.somaxconn", State::Low, Some(raise.clone())),
            item("descriptors of a process", State::Bad, Some(Raise { root: false, ..raise })),
        ],
    }
}

#[test]
fn the_page_of_a_checkup() {
    insta::assert_snapshot!("doctor_80", doctor(&checkup(), Style::default()));
    insta::assert_snapshot!("doctor_40", doctor(&checkup(), Style { width: 40, color: false }));
    let without = Checkup { asked: None, flags: None, ..checkup() };
    assert!(!doctor(&without, Style::default()).contains("asked"));
    let not = Checkup { flags: None, ..checkup() };
    assert!(doctor(&not, Style::default()).contains("do not fit"));
}

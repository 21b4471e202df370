//! What `genkai doctor` prints, on a fixed checkup.

use genkai_model::machine::{Checkup, Holds, Item, Machine, PlaceCheckup, PlaceHolds, PlacesCheckup, Raise, State};
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

#[test]
fn each_machine_of_a_load_is_told_with_its_part() {
    let holds = PlaceHolds {
        descriptors: 39_856,
        ports: 28_230,
        memory: 4_000_000,
        files: 2_000_000,
        conntrack: None,
        all: 28_230,
    };
    let place = |place: &str, part: u64, good: bool| {
        let machine = checkup().machine;
        PlaceCheckup { place: place.to_owned(), processes: 2, machine, holds, part: Some(part), good }
    };
    let mut places = vec![place("here", 20_000, true), place("load1\u{1b}", 30_000, false)];
    places[0].machine.available = 8 << 30;
    // As in a pod: less than the machine has, and an image that does not say what it is of.
    let far = &mut places[1].machine;
    (far.available, far.memory_limit, far.os) = (8 << 30, Some(512 << 20), String::new());
    let checkup = PlacesCheckup { places, holds: 56_460, asked: Some(50_000), good: false };
    insta::assert_snapshot!("places_80", text::document(&study::places(&checkup), Style::default()));
}

//! Text of a scenario file, genkai's own or Artillery's: a script that another process can read, or a mistake with its place.
#![no_main]

use genkai_model::scenario::Scenario;
use genkai_scenario::{World, read};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|text: &str| {
    let world = World {
        read: &|_| Ok("name,password\nada,lovelace\n".to_owned()),
        environment: &|name| Some(name.to_owned()),
        chosen: None,
        targets: &[],
    };
    match read("file", text, &world) {
        Ok(script) => {
            let json = serde_json::to_string(&script.scenario).expect("a scenario is JSON");
            let back: Scenario = serde_json::from_str(&json).expect("which can be read");
            assert_eq!(back, script.scenario);
            assert!(!script.stages.is_empty() && !script.scenario.targets.is_empty());
        }
        Err(fault) => assert!(!fault.file.is_empty() && !fault.what.is_empty()),
    }
});

//! Text of a server's configuration (HAProxy, php-fpm, Redis): read without losing a byte, or refused with a place.
#![no_main]

use std::path::Path;

use genkai_targets::haproxy::config::{Config, FileId, Reading};
use genkai_targets::{phpfpm, redis};
use libfuzzer_sys::fuzz_target;

fuzz_target!(|bytes: &[u8]| {
    let Some((first, text)) = bytes.split_first() else { return };
    // No file is there to be included.
    let path = Path::new("/nonexistent/fuzz.conf");
    match first % 3 {
        0 => match Config::of_texts(vec![(path.to_owned(), text.to_vec())], Reading::default()) {
            Ok(config) => {
                assert_eq!(config.file(FileId::MAIN).text, text);
                assert_eq!(config.apply(&[]).expect("no edit"), config);
            }
            Err(error) => assert!(!error.to_string().is_empty()),
        },
        1 => match phpfpm::config::Config::of_text(path, text.to_vec()) {
            Ok(config) => assert_eq!(config.entries.files()[0].text, text),
            Err(error) => assert!(!error.to_string().is_empty()),
        },
        _ => match redis::config::Config::of_text(path, text.to_vec()) {
            Ok(config) => assert_eq!(config.entries.files()[0].text, text),
            Err(error) => assert!(!error.to_string().is_empty()),
        },
    }
});

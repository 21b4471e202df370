//! Reading and editing of nginx configurations: nothing is lost, and an edit changes what it says and no more.

mod nginx_configs;

use genkai_targets::nginx::config::{Config, lexer, parse};

use nginx_configs::{CASES, lay_out};

#[test]
fn tokens_tile_every_file_and_printing_gives_it_back() {
    for case in &CASES {
        let dir = tempfile::tempdir().unwrap();
        let config = Config::read(&lay_out(case.name, dir.path()), dir.path()).unwrap();
        for (_, file) in config.files() {
            assert_eq!(std::fs::read(&file.path).unwrap(), file.text, "{}", file.path.display());
            let tokens = lexer::tokens(&file.text).unwrap();
            let printed: Vec<u8> = tokens.iter().flat_map(|t| file.text[t.span.clone()].iter().copied()).collect();
            assert_eq!(printed, file.text, "{}", file.path.display());
            let mut at = 0;
            for token in tokens {
                assert_eq!(token.span.start, at, "{}", file.path.display());
                at = token.span.end;
            }
            assert_eq!(at, file.text.len());
            assert_eq!(parse(&file.text).unwrap(), file.tree);
        }
    }
}

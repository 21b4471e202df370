//! A private copy of a VCL: each file once more, its backends replaced or kept, its includes those of the copy. Only what is replaced
//! differs, byte for byte.

use std::path::{Path, PathBuf};

use genkai_model::event::Rewrite;

use super::vcl::{Attribute, Backend, Item, Vcl};
use crate::cache::{Sandbox, unseen};
use crate::error::TargetError;
use crate::files::{Edit, File, FileId, Move, edited, flat};
use genkai_place::endpoint::Endpoint;
use genkai_place::remote;

/// Modules that make no backends while it runs and ask no hosts themselves: those of Varnish (`debug` makes backends), of Debian's
/// varnish-modules, and some well-known ones that only compute.
const KNOWN: [&str; 25] = [
    "accept",
    "blob",
    "bodyaccess",
    "cookie",
    "digest",
    "directors",
    "geoip2",
    "header",
    "proxy",
    "purge",
    "querystring",
    "re",
    "re2",
    "saintmode",
    "selector",
    "std",
    "str",
    "tcp",
    "unix",
    "urlplus",
    "uuid",
    "var",
    "vsthrottle",
    "vtc",
    "xkey",
];

/// A private copy.
#[derive(Clone, Debug, Default, PartialEq)]
pub(crate) struct Private {
    /// Each copy with its text, the main one first, and its original.
    pub(super) files: Vec<(PathBuf, Vec<u8>, PathBuf)>,
    /// What differs from the user's files.
    pub(super) rewrites: Vec<Rewrite>,
}

/// Makes a private copy of `vcl`.
///
/// # Errors
/// When requests would leave this machine.
pub(super) fn build(vcl: &Vcl, at: &Sandbox<'_>) -> Result<Private, TargetError> {
    let copies: Vec<(PathBuf, PathBuf)> =
        vcl.files().map(|(id, file)| (copy(id, file, at.dir), file.path.clone())).collect();
    let mut private = Private::default();
    for ((id, file), (path, original)) in vcl.files().zip(&copies) {
        let mut edits = Vec::new();
        for item in &file.tree {
            match item {
                Item::Backend(backend) if backend.is_none => {}
                Item::Backend(backend) => private.backend(id, file, backend, at, &mut edits)?,
                Item::Include(span, paths) => {
                    let of =
                        |path: &PathBuf| copies.iter().find(|(_, original)| original == path).map(|(copy, _)| copy);
                    let all = paths.iter().filter_map(of).map(|copy| format!("include \"{}\";", copy.display()));
                    edits.push(Edit::new(id, span, all.collect::<Vec<_>>().join(" ")));
                }
                // Whatever host was allowed: which one it asks stands nowhere.
                Item::Import(name, place) if !KNOWN.contains(&name.as_str()) => {
                    let hint = "in a copy, leave it out, or write backends in the place of it; these may stay";
                    let what = format!("{}: `import {name}` may pass requests to", file.place(*place));
                    return Err(unseen("Varnish", &what, &format!("{hint}: {}", KNOWN.join(", "))));
                }
                Item::Import(..) | Item::Version(_) | Item::Sub(..) | Item::Words(_) => {}
            }
        }
        // Backends and includes do not overlap.
        let text = edited(file, id, &edits).ok().flatten().unwrap_or_else(|| file.text.clone());
        private.files.push((path.clone(), text, original.clone()));
    }
    Ok(private)
}

fn copy(id: FileId, file: &File<Item>, dir: &Path) -> PathBuf {
    dir.join(format!("{:03}-{}", id.0, flat(&file.path.to_string_lossy())))
}

impl Private {
    fn backend(
        &mut self,
        id: FileId,
        file: &File<Item>,
        backend: &Backend,
        at: &Sandbox<'_>,
        edits: &mut Vec<Edit>,
    ) -> Result<(), TargetError> {
        let of = |name: &str| backend.attributes.iter().find(|attribute| attribute.name == name);
        let led = || match Move::to(at.moves, &backend.place()?)? {
            Endpoint::Tcp(address) => Some(*address),
            Endpoint::Unix(_) => None,
        };
        let Some(address) = at.backend.or_else(led) else {
            let Some(host) = of("host").map(|host| host.value.trim_matches(['[', ']'])) else { return Ok(()) };
            return Ok(remote::check(host, at.allowed, || file.place(backend.inside))?);
        };
        let new = format!(".host = \"{}\"; .port = \"{}\";", address.ip(), address.port());
        let mut first = Some(new.clone());
        let gone: Vec<&Attribute> = ["host", "port", "path"].iter().filter_map(|name| of(name)).collect();
        for attribute in &gone {
            let from = String::from_utf8_lossy(&file.text[attribute.span.clone()]).into_owned();
            let to = first.take().unwrap_or_default();
            edits.push(Edit::new(id, &attribute.span, to.clone()));
            self.rewrites.push(Rewrite { place: file.place(attribute.span.start), from, to });
        }
        if let Some(new) = first {
            edits.push(Edit::new(id, &(backend.inside..backend.inside), format!(" {new}")));
        }
        Ok(())
    }

    /// A message with the user's files in the place of the copies; lines are the same in both.
    pub(super) fn translate(&self, message: &str) -> String {
        self.files.iter().fold(message.to_owned(), |text, (copy, _, original)| {
            text.replace(&*copy.to_string_lossy(), &original.to_string_lossy())
        })
    }
}

#[cfg(test)]
mod tests {
    use std::net::SocketAddr;

    use super::*;
    use crate::cache::Budget;
    use crate::product::Program;

    fn built(vcl: &Vcl, backend: Option<SocketAddr>, allowed: &[String]) -> Result<Private, TargetError> {
        let (program, dir, budget) = (&Program::default(), Path::new("/p"), Budget::USUAL);
        build(vcl, &Sandbox { program, dir, listen: ([127, 0, 0, 1], 7).into(), backend, moves: &[], allowed, budget })
    }

    #[test]
    fn backends_are_replaced_and_nothing_else() {
        let dir = tempfile::tempdir().unwrap();
        let main = dir.path().join("default.vcl");
        let text =
            "vcl 4.1;\nbackend a {\n  .host = \"10.0.0.1\";\n  .port = \"80\";\n  .connect_timeout = 1s;\n}\n# end\n";
        std::fs::write(&main, text).unwrap();
        let vcl = Vcl::read(&main).unwrap();
        let private = built(&vcl, Some("127.0.0.1:9".parse().unwrap()), &[]).unwrap();
        let expected = text
            .replace(".host = \"10.0.0.1\";", ".host = \"127.0.0.1\"; .port = \"9\";")
            .replace("  .port = \"80\";", "  ");
        assert_eq!(String::from_utf8_lossy(&private.files[0].1), expected);
        let copy = private.files[0].0.display().to_string();
        assert_eq!(
            private.translate(&format!("('{copy}' Line 3 Pos 4)")),
            format!("('{}' Line 3 Pos 4)", main.display())
        );
        let said = built(&vcl, None, &[]).unwrap_err().to_string();
        assert!(said.contains("default.vcl:2") && said.contains("is not this machine"), "{said}");
    }

    #[test]
    fn a_backend_in_whose_place_another_is_leads_there_and_the_others_stay() {
        let dir = tempfile::tempdir().unwrap();
        let main = dir.path().join("default.vcl");
        let text =
            "vcl 4.1;\nbackend a { .host = \"127.0.0.1\"; .port = \"8080\"; }\nbackend b { .host = \"localhost\"; }\n";
        std::fs::write(&main, text).unwrap();
        let vcl = Vcl::read(&main).unwrap();
        let to = |place: &str| Endpoint::parse(place).unwrap();
        let moves = [Move { from: to("127.0.0.1:80"), to: to("127.0.0.1:9") }];
        let (program, listen, budget) = (&Program::default(), ([127, 0, 0, 1], 7).into(), Budget::USUAL);
        let at = Sandbox { program, dir: Path::new("/p"), listen, backend: None, moves: &moves, allowed: &[], budget };
        let private = build(&vcl, &at).unwrap();
        let expected = text.replace(".host = \"localhost\";", ".host = \"127.0.0.1\"; .port = \"9\";");
        assert_eq!(String::from_utf8_lossy(&private.files[0].1), expected);
        let told: Vec<&str> = private.rewrites.iter().map(|one| one.to.as_str()).collect();
        assert_eq!(told, [".host = \"127.0.0.1\"; .port = \"9\";"]);
    }

    #[test]
    fn modules_that_may_reach_hosts_are_refused() {
        let dir = tempfile::tempdir().unwrap();
        let main = dir.path().join("default.vcl");
        let backend = Some("127.0.0.1:9".parse().unwrap());
        let with = |modules: &str, allowed: &[String]| {
            std::fs::write(&main, format!("vcl 4.1;\nimport std;\n{modules}\nbackend default none;\n")).unwrap();
            built(&Vcl::read(&main).unwrap(), backend, allowed)
        };
        assert!(with("import header; import directors;", &[]).is_ok());
        let shop = ["shop.example".to_owned()];
        for allowed in [&shop[..0], &shop[..]] {
            for name in ["goto", "mine"] {
                let said = with(&format!("import {name};"), allowed).unwrap_err().to_string();
                assert!(said.contains(&format!("default.vcl:3: `import {name}`")) && said.contains("hint:"), "{said}");
            }
        }
    }
}

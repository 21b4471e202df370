//! Files that a private copy writes in another place than the configuration says: what becomes of them in that place is not tested by a load on
//! the copy, so that no answer may rest on it unsaid.

use std::path::Path;

use genkai_model::event::Rewrite;
use genkai_place::room::{self, Room};
use genkai_targets::files::masked;

/// Identity of the note.
pub(super) const NOTE: &str = "elsewhere";

/// From how many bytes on there is room enough for a load of some seconds.
const ENOUGH: u64 = 1 << 30;
const MIB: f64 = 1_048_576.0;

/// What a directive's files are.
#[derive(Clone, Copy, PartialEq, Eq)]
enum Files {
    /// Bodies of requests and responses: where these cannot be written, requests fail.
    Bodies,
    Logs,
}

/// What is to be said of the differences of a copy; none where nothing is written elsewhere that matters.
pub(super) fn told(rewrites: &[Rewrite]) -> Option<String> {
    said(rewrites, room::at)
}

fn said(rewrites: &[Rewrite], room: impl Fn(&Path) -> Room) -> Option<String> {
    let one = |rewrite: &Rewrite| {
        let (files, path) = moved(rewrite)?;
        let little = little(room(Path::new(path)));
        // A log is told of only where it cannot be written.
        if files == Files::Logs && little.is_none() {
            return None;
        }
        let little = little.map(|why| format!(": {why}")).unwrap_or_default();
        Some(format!("`{}` ({}){little}", masked(&rewrite.from), rewrite.place))
    };
    let mut all: Vec<String> = rewrites.iter().filter_map(one).collect();
    all.dedup();
    (!all.is_empty()).then(|| {
        format!(
            "the private copy writes elsewhere what the configuration has written by {}. Whether it can be written there under load was not tested",
            all.join(", ")
        )
    })
}

/// The files of a directive that the copy has elsewhere, and where the configuration has them.
fn moved(rewrite: &Rewrite) -> Option<(Files, &str)> {
    let name = rewrite.from.split_whitespace().next()?.to_ascii_lowercase();
    let files = match &*name {
        "cacheroot" | "cache_dir" | "coss_dir" => Files::Bodies,
        _ if name.ends_with("_temp_path") || name.ends_with("_cache_path") => Files::Bodies,
        _ if name.ends_with("log") && name != "syslog" => Files::Logs,
        _ => return None,
    };
    let paths = |text| {
        str::split_whitespace(text).map(|word| word.trim_matches(['"', '\'', ';'])).filter(|word| word.starts_with('/'))
    };
    let own = paths(&rewrite.from).next()?;
    (paths(&rewrite.to).next().is_some() && !paths(&rewrite.to).any(|path| path == own)).then_some((files, own))
}

/// Why files may not find room; none where nothing speaks against it.
fn little(room: Room) -> Option<String> {
    match room {
        Room::Missing => Some("neither it nor the folder that it would be in is there".to_owned()),
        Room::Forbidden => Some("nothing can be written there by who runs genkai".to_owned()),
        Room::Of { free, size } if free < ENOUGH && size > 0 => {
            Some(format!("{:.1} MiB of {:.1} MiB are free there", free as f64 / MIB, size as f64 / MIB))
        }
        Room::Of { .. } => None,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn rewrite(from: &str, to: &str) -> Rewrite {
        Rewrite { place: "/c:4".into(), from: from.into(), to: to.into() }
    }

    #[test]
    fn bodies_that_are_written_elsewhere_are_told_and_how_little_room_they_would_have() {
        let all = [
            rewrite("client_body_temp_path /small/body 1 2", "client_body_temp_path /run/temp/small_body 1 2"),
            rewrite("CacheRoot \"/big/cache\"", "CacheRoot /run/cache"),
        ];
        let room =
            |path: &Path| Room::Of { free: if path.starts_with("/small") { 1 << 20 } else { 1 << 40 }, size: 1 << 41 };
        let text = said(&all, room).unwrap();
        assert!(text.contains("`client_body_temp_path /small/body 1 2` (/c:4): 1.0 MiB of "), "{text}");
        assert!(text.contains("`CacheRoot \"/big/cache\"` (/c:4). Whether"), "{text}");
    }

    #[test]
    fn logs_are_told_only_where_they_cannot_be_written() {
        let all = [rewrite("access_log /var/log/x.log main", "access_log /run/logs/x.log main")];
        assert_eq!(said(&all, |_| Room::Of { free: 1 << 40, size: 1 << 41 }), None);
        assert!(said(&all, |_| Room::Missing).unwrap().contains("is there"));
        assert!(said(&all, |_| Room::Forbidden).unwrap().contains("nothing can be written"));
    }

    #[test]
    fn what_stays_or_is_no_file_of_the_users_is_not_told() {
        let none = |_: &Path| Room::Missing;
        for (from, to) in [
            ("", "proxy_temp_path /run/temp/proxy;"),
            ("pid /run/nginx.pid", "pid /run/x/nginx.pid"),
            ("listen 80", "listen 127.0.0.1:4"),
            ("proxy_temp_path /same", "proxy_temp_path /same"),
            ("access_log off", "access_log /run/x.log"),
            ("error_log /a", ""),
        ] {
            assert_eq!(said(&[rewrite(from, to)], none), None, "{from}");
        }
    }
}

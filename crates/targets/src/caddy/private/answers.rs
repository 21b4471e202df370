//! A log of what upstreams answered with an error (5xx): Caddy writes such requests down at a level of their own, but not whose answer it was.

use std::path::Path;

use crate::caddy::config::quote;

/// Lines of a site that write it. Who answered stands where the log has the name of a user: nobody but an authentication of the site's sets it,
/// and clients see nothing of it. The time until the head of the answer came is there only where one did.
pub(super) fn lines(file: &Path) -> Vec<String> {
    let file = quote(&file.to_string_lossy());
    let text = format!(
        "map {{http.request.proto}} {{http.auth.user.id}} {{\n\tdefault \"{{http.reverse_proxy.upstream.hostport}}|{{http.reverse_proxy.upstream.latency}}\"\n}}\nlog \
         {{\n\toutput file {file} {{\n\t\troll_disabled\n\t}}\n\tlevel ERROR\n\tformat filter {{\n\t\twrap json\n\t\tfields {{\n\t\t\trequest delete\n\t\t\tresp_headers \
         delete\n\t\t}}\n\t}}\n}}"
    );
    text.lines().map(str::to_owned).collect()
}

//! The configuration as text.

use std::net::SocketAddr;

/// The built-in VCL before `origin`.
pub(super) fn render(origin: SocketAddr) -> String {
    format!(
        "\
# A cache, written by genkai.
vcl 4.1;

backend origin {{
    .host = \"{}\";
    .port = \"{}\";
}}
",
        origin.ip(),
        origin.port()
    )
}

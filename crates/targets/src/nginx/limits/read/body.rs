//! Bodies of requests that are kept in files until the upstream has them: each holds a descriptor.

use super::Reading;
use crate::limits::slots::Takes;
use crate::nginx::config::Pass;
use crate::nginx::settings::value;

/// `client_body_buffer_size` of 64-bit machines (src/http/ngx_http_core_module.c: two pages).
const BUFFER: u64 = 16 * 1024;
/// What a buffer for heads holds where nothing is written of `large_client_header_buffers`; what comes with a head may be of the body.
const WITH_HEAD: u64 = 8 * 1024;

impl Reading<'_> {
    /// Descriptors of files that hold the body of a request which is passed on so: one where the body is larger than its buffer, or is to be in a file
    /// in any case (src/http/ngx_http_request_body.c: ngx_http_read_client_request_body takes a buffer larger by a quarter where that is enough).
    pub(super) fn in_files(&self, pass: &Pass<'_>) -> Takes {
        let (least, most) = self.body;
        let said = |name: &str| self.route.inherited(name).last().and_then(|found| found.arg(0));
        let module = pass.found.directive.name().strip_suffix(b"_pass").unwrap_or_default();
        let buffers = String::from_utf8_lossy(module).into_owned() + "_request_buffering";
        // gRPC is passed on as it comes, and what is asked of memcached has no body.
        let unbuffered = ["grpc", "memcached"].iter().any(|one| one.as_bytes() == module);
        let passed = said(&buffers).as_deref() == Some("off");
        // What else becomes of the body has it read before anything is passed on.
        let read = ["mirror", "proxy_set_body"].iter().any(|name| said(name).is_some())
            || said("proxy_pass_request_body").as_deref() == Some("off");
        if most == 0 || unbuffered || passed && !read {
            return Takes::always(0);
        }
        let always = said("client_body_in_file_only").is_some_and(|word| word != "off");
        let buffer = said("client_body_buffer_size").and_then(|text| value::size(&text)).unwrap_or(BUFFER);
        let size = |text: Option<String>| text.and_then(|text| value::size(&text)).unwrap_or(0);
        let large = self.route.inherited("large_client_header_buffers").last().and_then(|found| found.arg(1));
        let head = WITH_HEAD.max(size(said("client_header_buffer_size"))).max(size(large));
        let is_in_file = |bytes: u64, room: u64| u64::from(always && bytes > 0 || bytes > room);
        let fewest = if passed { 0 } else { is_in_file(least, buffer + buffer / 4 + head) };
        Takes { fewest, most: is_in_file(most, buffer) }
    }
}

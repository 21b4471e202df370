//! bytes to messages and back, no I/O: HTTP/1.1.

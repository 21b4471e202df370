//! embedded servers: an HTTP origin with a known service time and a cap on concurrent work.

//! Progress as it happens.

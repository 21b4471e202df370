//! Configurations and instructions as they are read: examples that come with products, and lines drawn at random.

mod caddy_properties;
mod guess;
mod stock;

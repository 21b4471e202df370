//! shows: text, terminal, HTML, JSON, SVG.

//! makes load: one event loop per core, pacers, connections, histograms, self-check.

//! runs trials: preflight, order of effects, interleaving, search loops, run directory, experiments.

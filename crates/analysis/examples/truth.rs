//! Prints how often comparisons of systems whose truth is known say what is wrong: `cargo run --release -p genkai-analysis --example
//! truth`. The figures are the same on every machine.

#[path = "../tests/simulation/mod.rs"]
mod simulation;

use simulation::{Family, LOOKS, MOODS, NOISES, Noise, coverage, coverage_of_failures, equal_rivals, families, proofs};

/// Draws of each row.
const TIMES: u32 = 20_000;

fn main() {
    println!("Comparisons of simulated systems whose truth is known, {TIMES} each.\n");
    println!("A 95 % interval holds the true ratio (blocks of pairs with shared drift):");
    for (noise, name) in NOISES {
        let held: Vec<String> =
            [3, 5, 8, 16].iter().map(|n| format!("{:5.1} %", 100.0 * coverage(noise, *n, TIMES))).collect();
        println!("  {name:<22} 3 blocks {}, 5 {}, 8 {}, 16 {}", held[0], held[1], held[2], held[3]);
    }
    let held = 100.0 * coverage_of_failures(6, TIMES);
    println!("  failures in bursts, 6 blocks: {held:.1} %\n");
    println!("At least one of 8 figures is called better or worse, looks after {LOOKS:?} blocks:");
    for (noise, name) in NOISES {
        for pairs in [1, 3] {
            let said = families(noise, Family { figures: 8, pairs, ratio: 1.0, margin: 0.05 }, TIMES / 10);
            println!("  {name:<22} equal systems, {pairs} pairs: {:.1} % (at most 5)", 100.0 * said.differs);
        }
    }
    println!("At least two of equal rivals (caches, servers of a comparison) are told apart, each compared with each:");
    for (rivals, rounds) in [(2, 5), (8, 3), (8, 5), (11, 5)] {
        let told = 100.0 * equal_rivals(Noise::Normal, rivals, rounds, TIMES / 10);
        println!("  {rivals:2} rivals, {rounds} rounds: {told:.1} % (at most 5)");
    }
    println!("At least one of 8 figures at the margin (x1.05) is called equal:");
    let said = families(Noise::Normal, Family { figures: 8, pairs: 1, ratio: 1.05, margin: 0.05 }, TIMES / 10);
    println!("  {:.1} % (at most 5)", 100.0 * said.same);
    println!("Systems that differ (own noise 5 %), margin 5 %:");
    for ratio in [1.1, 1.2, 1.5] {
        let said = families(Noise::Normal, Family { figures: 8, pairs: 1, ratio, margin: 0.05 }, TIMES / 10);
        println!(
            "  x{ratio}: all decided in {:.0} % of comparisons, after {:.1} blocks",
            100.0 * said.decided,
            said.blocks
        );
    }
    println!("Proofs of a change that does nothing:");
    for looks in [&[3][..], &[3, 4, 5], &[2]] {
        for (mood, name) in MOODS {
            let said = proofs(mood, looks, TIMES);
            println!(
                "  {name:<22} looks after {looks:?} pairs: better or worse {:.1} %, proved {:.1} %",
                100.0 * said.differs,
                100.0 * said.proved
            );
        }
    }
}

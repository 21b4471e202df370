//! Clusters: loads made by pods, servers put to the test there, experiments, against a stand-in for a cluster.

#[path = "../harness/cluster/mod.rs"]
mod cluster;
mod experiment;
#[path = "../harness/mod.rs"]
mod harness;
mod load;
mod server;
mod wordpress;

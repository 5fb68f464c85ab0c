//! `[postgres]` and `[cluster]`: a database that is reached by its URL, and leases that can be kept.

use super::Findings;
use crate::Config;

pub(super) fn check_cluster(config: &Config, found: &mut Findings) {
    let postgres = &config.postgres;
    found.require(
        "postgres.url_file",
        postgres.url.is_none() || postgres.url_file.is_none(),
        "is set beside postgres.url; remove one",
    );
    let cluster = &config.cluster;
    let beats = cluster
        .heartbeat
        .saturating_mul(3)
        .saturating_add(cluster.margin);
    found.require(
        "cluster.lease",
        cluster.lease >= beats,
        "must be at least three times cluster.heartbeat and cluster.margin more: one lost heartbeat must not cost the lease",
    );
}

//! `[postgres]` and `[cluster]`: a database that is reached by its URL, and leases that can be kept.

use super::Findings;
use crate::Config;

pub(super) fn check_cluster(config: &Config, found: &mut Findings) {
    let postgres = &config.postgres;
    if let Some(url) = &postgres.url {
        found.check_postgres_url("postgres.url", url);
        if postgres.url_file.is_some() {
            found.problem(
                "postgres.url_file",
                "is set beside postgres.url; remove one",
            );
        }
    }
    found.at_least_one("postgres.writers", postgres.writers as u64);
    found.at_least_one("postgres.readers", postgres.readers as u64);
    found.require(
        "postgres.batch_rows",
        (1..=100_000).contains(&postgres.batch_rows),
        "must be between 1 and 100000",
    );
    found.check_positive("postgres.statement_timeout", postgres.statement_timeout);
    found.check_positive("postgres.lock_timeout", postgres.lock_timeout);
    found.check_positive("postgres.write_timeout", postgres.write_timeout);
    found.require(
        "postgres.rewrite_mib",
        (1..=65_536).contains(&postgres.rewrite_mib),
        "must be between 1 and 65536",
    );

    let cluster = &config.cluster;
    found.require(
        "cluster.roles",
        !cluster.roles.is_empty(),
        "is empty; write [\"smpp\", \"delivery\", \"http\", \"janitor\"] or some of them",
    );
    found.check_positive("cluster.heartbeat", cluster.heartbeat);
    found.check_positive("cluster.margin", cluster.margin);
    found.check_positive("cluster.poll", cluster.poll);
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

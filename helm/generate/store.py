"""The dashboard about the store, the nodes and their processes."""

from panels import (
    BLUE,
    GREEN,
    IS_BAD,
    ORANGE,
    RED,
    YELLOW,
    dashboard,
    graph,
    heatmap,
    row,
    stat,
    steps,
)
from queries import ALL, COMMON, in_an_hour, quantile, rate, total


def board():
    return dashboard(
        "smsc-store",
        "SMSC / Store and cluster",
        "Is the store fast enough, and do the nodes agree?",
        COMMON,
        [*store_panels(), *outbox_panels(), *source_panels(), *cluster_panels()],
    )


def store_panels():
    commits = rate("smsc_store_commits_total")
    seconds = rate("smsc_store_commit_seconds_total")
    each = lambda metric: rate(metric, "instance")  # noqa: E731
    average = f"{each('smsc_store_commit_seconds_total')} / {each('smsc_store_commits_total')}"
    return [
        stat("Commits", commits, "Commits per second.", "ops", steps(BLUE), w=4),
        stat(
            "Commit takes",
            f"{seconds} / {commits}",
            "Mean time of a commit with its fsync. Every answer waits for one.",
            "s",
            steps(GREEN, 0.05, YELLOW, 0.5, RED),
            w=4,
        ),
        stat(
            "Rows wait",
            total("smsc_store_waiting"),
            "Rows that wait for the writer. Above zero for long: the store is the limit.",
            "short",
            steps(GREEN, 5_000, YELLOW, 50_000, RED),
            w=4,
        ),
        stat(
            "Free",
            total("smsc_store_free_bytes", how="min"),
            "Free space on the fullest disk.",
            "bytes",
            steps(RED, 1 << 30, YELLOW, 5 << 30, GREEN),
            w=4,
        ),
        stat(
            "Dead letters",
            total("smsc_store_dead_letters", how="max"),
            "Rows that could not be written and were put aside.",
            "short",
            IS_BAD,
            w=4,
        ),
        stat(
            "Restarts in an hour",
            in_an_hour("smsc_actor_restarts_total"),
            "Actors that failed and were started again.",
            "short",
            steps(GREEN, 1, ORANGE, 10, RED),
            w=4,
            decimals=0,
        ),
        row("Store"),
        heatmap(
            "Commits",
            "How long commits take, all nodes.",
            f"sum by (le) (increase(smsc_store_commit_latency_seconds_bucket{{{ALL}}}[$__rate_interval]))",
        ),
        graph(
            "Slowest commits",
            "99 of 100 are faster.",
            (quantile(0.99, "smsc_store_commit_latency_seconds", "instance"), "{{instance}}"),
            unit="s",
            limits=steps(GREEN, 1, RED),
        ),
        graph(
            "Commit time",
            "Mean per node. A step upwards on one node is its disk; on all of them, the database.",
            (average, "{{instance}}"),
            unit="s",
            w=8,
            limits=steps(GREEN, 0.5, RED),
        ),
        graph(
            "Rows per commit",
            "Group commit: more rows per commit under load is as it should be.",
            (
                f"{each('smsc_store_rows_total')} / {each('smsc_store_commits_total')}",
                "{{instance}}",
            ),
            w=8,
        ),
        graph(
            "Rows",
            "Rows written per second.",
            (each("smsc_store_rows_total"), "{{instance}}"),
            unit="ops",
            w=8,
        ),
        graph(
            "Rows that wait",
            "For the writer.",
            (total("smsc_store_waiting", "instance"), "{{instance}}"),
            w=8,
        ),
        graph(
            "Free space",
            "New messages are refused below store.min_free_mib.",
            (total("smsc_store_free_bytes", "instance", how="min"), "{{instance}}"),
            unit="bytes",
            w=8,
        ),
        graph(
            "Search index behind by",
            "Messages that cannot be searched for yet.",
            (total("smsc_store_index_lag", "instance"), "{{instance}}"),
            w=8,
        ),
        graph(
            "Correlations",
            "Operator ids that wait for a receipt, in RAM and in the index file.",
            (total("smsc_correlations_in_memory"), "in memory"),
            (total("smsc_correlations_spilled"), "in the file"),
            stack=True,
            w=8,
        ),
    ]


def source_panels():
    return [
        row("Commands on NATS"),
        graph(
            "Commands",
            "Deliveries of commands, by source (`[[nats_source]]`) and what became of them.",
            (rate("smsc_nats_source_commands_total", "source, result"), "{{source}}: {{result}}"),
            w=8,
        ),
        graph(
            "Commands wait",
            "Commands of the streams that no node has been given yet.",
            (total("smsc_nats_source_waiting", "source", how="max"), "{{source}}"),
            w=8,
        ),
        graph(
            "Commands under way",
            "Commands that nodes have and have not acknowledged yet.",
            (total("smsc_nats_source_in_flight", "source"), "{{source}}"),
            w=8,
        ),
    ]


def outbox_panels():
    return [
        row("Outbox"),
        graph(
            "Events wait",
            "Ends of messages that a reader (cdr: call detail records, usage, archive, redis_platform; nats: of a build before) has not read yet.",
            (total("smsc_outbox_waiting", "reader", how="max"), "{{reader}}"),
            w=8,
        ),
        graph(
            "Oldest event",
            "Age of the oldest of them. Seconds are usual.",
            (total("smsc_outbox_oldest_seconds", "reader", how="max"), "{{reader}}"),
            unit="s",
            limits=steps(GREEN, 600, RED),
            w=8,
        ),
        graph(
            "Events read",
            "Ends of messages per second that a reader has read.",
            (rate("smsc_outbox_read_total", "reader"), "{{reader}}"),
            w=8,
        ),
        graph(
            "Events wait for sinks",
            "Events that the broker of an event sink has not acknowledged yet.",
            (total("smsc_sink_waiting", "sink", how="max"), "{{sink}}"),
            w=8,
        ),
        graph(
            "Oldest event of a sink",
            "Age of the oldest of them. Seconds are usual.",
            (total("smsc_sink_oldest_seconds", "sink", how="max"), "{{sink}}"),
            unit="s",
            limits=steps(GREEN, 600, RED),
            w=8,
        ),
        graph(
            "Events published",
            "Events per second that a sink has acknowledged, and failures to publish.",
            (rate("smsc_sink_published_total", "sink"), "{{sink}}"),
            (rate("smsc_sink_failures_total", "sink"), "{{sink}} failed"),
            w=8,
        ),
        graph(
            "Archive",
            "Octets per second that are archived, and writes that fail and are repeated.",
            (rate("smsc_archive_octets_total"), "octets"),
            (rate("smsc_archive_failures_total"), "failures"),
            w=8,
        ),
        graph(
            "Traffic history",
            "Writes that fail and are repeated, and minutes that are missing since: none is usual.",
            (in_an_hour("smsc_history_failures_total"), "failures in an hour"),
            (in_an_hour("smsc_history_lost_total"), "minutes lost in an hour"),
            w=8,
        ),
        graph(
            "Keys of the Redis platform",
            "Ids per second that the pump has taken; entries of pending lists that go to smsc:dead-letters, and writes that keys of another type refuse: of these none is usual.",
            (rate("smsc_redis_platform_dead_letters_total"), "dead letters"),
            (rate("smsc_redis_platform_refused_writes_total"), "refused writes"),
            (rate("smsc_redis_platform_pumped_total"), "taken by the pump"),
            w=8,
        ),
    ]


def cluster_panels():
    return [
        graph(
            "Dead letters",
            "Rows that could not be written.",
            (total("smsc_store_dead_letters", "instance", how="max"), "{{instance}}"),
            w=6,
        ),
        graph(
            "Damaged rows",
            "Rows of the store that are not as they were written, until somebody forgets them (`smsc damaged`). None is usual.",
            (total("smsc_store_damaged_rows", "instance", how="max"), "{{instance}}"),
            w=6,
        ),
        graph(
            "Held after the database went back in time",
            "Messages that may have been sent and wait for an order (`smsc held`), partitions in which more may be found, and commits that were written again. None is usual.",
            (total("smsc_messages_held", "instance", how="max"), "held {{instance}}"),
            (total("smsc_partitions_doubtful", "instance", how="max"), "doubtful partitions {{instance}}"),
            (rate("smsc_store_rewritten_commits_total", "instance"), "written again {{instance}}"),
            w=6,
        ),
        graph(
            "Refused and taken back",
            "Messages whose commit the database did not answer in time, and that it had written.",
            (rate("smsc_store_taken_back_total", "instance"), "{{instance}}"),
            w=6,
        ),
        graph(
            "Final states reported twice",
            "Harmless after a crash, a fault otherwise.",
            (rate("smsc_messages_final_repeated_total", "instance"), "{{instance}}"),
            unit="ops",
            w=6,
        ),
        row("Cluster and Redis"),
        graph(
            "Leases lost and takeovers",
            "A lost lease: the node stood back. A takeover: another node was dead.",
            (rate("smsc_cluster_leases_lost_total", "instance"), "lease lost {{instance}}"),
            (rate("smsc_cluster_nodes_taken_over_total", "instance"), "taken over by {{instance}}"),
            unit="ops",
            w=6,
        ),
        graph(
            "Partitions that cannot be read",
            "Owned by the node, which fails again and again to read what waits in them: nothing of it is sent. None is usual.",
            (total("smsc_takeovers_failing", "instance", how="max"), "{{instance}}"),
            w=6,
        ),
        graph(
            "Handed over between nodes",
            "Items that came from other nodes through the hand-off table.",
            (rate("smsc_cluster_items_collected_total", "instance"), "{{instance}}"),
            unit="ops",
            w=6,
        ),
        graph(
            "Redis",
            "1 while limits are shared; decisions taken alone meanwhile.",
            (total("smsc_throttle_redis_up", "instance", how="min"), "up {{instance}}"),
            (rate("smsc_throttle_redis_fallback_total", "instance"), "alone {{instance}}"),
            w=6,
        ),
        row("Processes"),
        graph(
            "CPU",
            "Cores in use.",
            (rate("process_cpu_seconds_total", "instance"), "{{instance}}"),
            w=8,
        ),
        graph(
            "Memory",
            "Resident memory. It is bounded by configuration, not by the backlog.",
            (total("process_resident_memory_bytes", "instance"), "{{instance}}"),
            unit="bytes",
            w=8,
        ),
        graph(
            "Files and threads",
            "Open file descriptors are connections, mostly.",
            (total("process_open_fds", "instance"), "files {{instance}}"),
            (total("process_threads", "instance"), "threads {{instance}}"),
            w=8,
        ),
        graph(
            "Sign-ins to the console",
            "By OpenID Connect, and those that failed, by reason.",
            (rate("smsc_console_sign_ins_total"), "signed in"),
            (rate("smsc_console_sign_ins_refused_total", "reason"), "{{reason}}"),
            unit="ops",
            w=24,
            h=6,
        ),
        row("Actors"),
        graph(
            "Mailboxes",
            "Messages between actors that wait, by kind of actor. One that fills up is the bottleneck.",
            (total("smsc_actor_mailbox_depth", "actor"), "{{actor}}"),
            w=8,
        ),
        graph(
            "Wait in mailboxes, p99",
            "By kind of actor.",
            (quantile(0.99, "smsc_actor_mailbox_wait_seconds", "actor"), "{{actor}}"),
            unit="s",
            w=8,
        ),
        graph(
            "Time to handle, p99",
            "By kind of actor.",
            (quantile(0.99, "smsc_actor_handling_seconds", "actor"), "{{actor}}"),
            unit="s",
            w=8,
        ),
        graph(
            "Restarts of actors",
            "Five within ten seconds end the process with code 70.",
            (rate("smsc_actor_restarts_total", "actor"), "{{actor}}"),
            unit="ops",
            w=8,
        ),
        graph(
            "Draining",
            "1 while a node finishes its windows to stop.",
            (total("smsc_draining", "instance"), "{{instance}}"),
            w=8,
        ),
        graph(
            "Live traces",
            "What people watch now: numbers, accounts, operators and binds.",
            (total("smsc_live_traces", "instance"), "{{instance}}"),
            w=8,
        ),
    ]

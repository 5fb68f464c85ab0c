"""The Grafana dashboards: what stands where. How it is drawn is in panels.py."""

from panels import (
    BLUE, GREEN, GREY, ORANGE, RED, TEMPO, YELLOW,
    alerts, box, choice, dashboard, graph, heatmap, row, source, stat, steps, table, text, timeline,
)  # fmt: skip

from store import cluster_panels, store_panels

ALL = 'namespace=~"$namespace",job=~"$job",instance=~"$node"'
DATASOURCE = source("datasource", "Prometheus", "prometheus")
COMMON = [
    DATASOURCE,
    choice("namespace", "Namespace", "namespace"),
    choice("job", "Installation", "job", 'smsc_draining{namespace=~"$namespace"}'),
    choice("node", "Node", "instance", 'smsc_draining{namespace=~"$namespace",job=~"$job"}'),
]
IS_BAD = steps(GREEN, 1, RED)
STATES = {
    "DELIVERED": GREEN, "ENROUTE": BLUE, "EXPIRED": YELLOW, "DELETED": GREY,
    "UNDELIVERABLE": ORANGE, "REJECTED": RED, "UNKNOWN": "purple",
}  # fmt: skip


def rate(metric, by="", more=""):
    """Per second, over all nodes that are chosen."""
    selector = f"{ALL},{more}" if more else ALL
    grouped = f" by ({by})" if by else ""
    return f"sum{grouped} (rate({metric}{{{selector}}}[$__rate_interval]))"


def total(metric, by="", more="", how="sum"):
    selector = f"{ALL},{more}" if more else ALL
    grouped = f" by ({by})" if by else ""
    return f"{how}{grouped} ({metric}{{{selector}}})"


def zero(expr):
    """0 instead of nothing, where nothing is the worst."""
    return f"{expr} or vector(0)"


def in_an_hour(metric, more=""):
    selector = f"{ALL},{more}" if more else ALL
    return f"sum (increase({metric}{{{selector}}}[1h]))"


def quantile(share, metric, by="", more=""):
    selector = f"{ALL},{more}" if more else ALL
    grouped = f"le, {by}" if by else "le"
    return f"histogram_quantile({share}, sum by ({grouped}) (rate({metric}_bucket{{{selector}}}[$__rate_interval])))"


def all_of_them():
    """Name of the file, and the dashboard."""
    yield "smsc-overview", overview()
    yield "smsc-operators", operators()
    yield "smsc-queues", queues()
    yield "smsc-message", message()
    yield "smsc-store", dashboard(
        "smsc-store", "SMSC / Store and cluster",
        "Is the store fast enough, and do the nodes agree?", COMMON,
        [*store_panels(rate, total, in_an_hour), *cluster_panels(rate, total)],
    )  # fmt: skip


def overview():
    delivered = rate("smsc_messages_final_total", more='state="DELIVERED"')
    final = rate("smsc_messages_final_total")
    operator_binds = total("smsc_binds", more='direction="out",state="bound"')
    return dashboard(
        "smsc-overview", "SMSC / Overview", "Is it well? Where to look if it is not.", COMMON,
        [
            stat("Accepted", rate("smsc_messages_accepted_total"), "Messages acknowledged after their commit, per second.", "mps", steps(BLUE)),
            stat("Delivered", zero(delivered), "Messages that ended DELIVERED, per second.", "mps", steps(GREEN)),
            stat("Success", f"{delivered} / {final}", "Share of the messages that ended which ended DELIVERED.", "percentunit", steps(RED, 0.5, ORANGE, 0.8, YELLOW, 0.95, GREEN), decimals=1),
            stat("Waiting", total("smsc_queue_waiting", more='queue=~"operator:.*"'), "Messages ready to go to operators.", "short", steps(GREEN, 10_000, YELLOW, 1_000_000, RED)),
            stat("Oldest", total("smsc_queue_oldest_seconds", how="max"), "Age of the oldest message that waits, over all queues.", "s", steps(GREEN, 60, YELLOW, 600, RED)),
            stat("Operator binds", zero(operator_binds), "Binds to operators that are up.", "short", steps(RED, 1, GREEN)),
            stat("Nodes", "count(" + f"smsc_draining{{{ALL}}}" + " == 0)", "Nodes that answer and are not draining.", "short", steps(RED, 1, GREEN)),
            stat("Below disk floor", total("smsc_store_below_floor"), "Nodes that refuse messages because their disk is nearly full.", "short", IS_BAD),
            row("Traffic"),
            graph("In and out", "Accepted and ended. When accepted stays above ended, queues grow.", (rate("smsc_messages_accepted_total"), "accepted"), (final, "ended"), (rate("smsc_queue_delivered_total", more='queue=~"operator:.*"'), "taken by operators"), unit="mps", w=8, colours={"accepted": BLUE, "ended": GREEN, "taken by operators": YELLOW}),
            graph("How messages end", "Final states per second.", (rate("smsc_messages_final_total", "state"), "{{state}}"), unit="mps", stack=True, w=8, colours=STATES),
            graph("Refused", "Submissions refused, by the command_status of the answer.", (rate("smsc_submissions_refused_total", "status"), "{{status}}"), unit="mps", stack=True, w=8),
            row("Queues and operators"),
            graph("Deepest queues", "Messages ready to go, ten deepest queues.", (f"topk(10, {total('smsc_queue_waiting', 'queue')})", "{{queue}}"), w=8),
            graph("Oldest messages", "Age of the oldest waiting message, ten worst queues.", (f"topk(10, {total('smsc_queue_oldest_seconds', 'queue', how='max')})", "{{queue}}"), unit="s", w=8),
            graph("Answer time of operators", "From submit_sm to its answer, all operators together.", (quantile(0.5, "smsc_attempt_seconds"), "p50"), (quantile(0.95, "smsc_attempt_seconds"), "p95"), (quantile(0.99, "smsc_attempt_seconds"), "p99"), unit="s", w=8, colours={"p50": GREEN, "p95": YELLOW, "p99": RED}),
            row("Trouble"),
            alerts("Alerts"),
            graph(
                "Attempts that did not succeed", "Throttled: the operator wants less. Outcome unknown: it does not answer. Failed over: the route's next target got it.",
                (rate("smsc_attempts_retried_total"), "retried"), (rate("smsc_attempts_throttled_by_operator_total"), "throttled"), (rate("smsc_attempts_outcome_unknown_total"), "outcome unknown"),
                (rate("smsc_messages_failed_over_total"), "failed over"), (rate("smsc_messages_expired_total"), "expired"), unit="mps", w=8,
            ),
            graph(
                "Receipts that did not fit", "Unmatched ones are parked and compared again; overdue means that none came in time.",
                (rate("smsc_operator_receipts_unmatched_total"), "unmatched"), (rate("smsc_operator_receipts_overdue_total"), "overdue"), (rate("smsc_operator_receipts_dropped_total"), "dropped"),
                (rate("smsc_receipts_refused_total"), "refused by account"), (rate("smsc_receipts_without_account_total"), "without account"), unit="mps", w=8,
            ),
        ],
    )  # fmt: skip


def operators():
    out = 'direction="out",name=~"$operator"'
    queue = 'queue=~"operator:$operator"'
    named = lambda expr: f'label_replace({expr}, "name", "$1", "queue", "operator:(.*)")'  # noqa: E731
    up = {"type": "value", "options": {"0": {"text": "down", "color": RED, "index": 0}}}
    some = {"type": "range", "options": {"from": 1, "to": 1e9, "result": {"text": "bound", "color": GREEN, "index": 1}}}
    return dashboard(
        "smsc-operators", "SMSC / Operators and binds", "Which operator is down, slow or throttling, and who is bound to us.",
        [*COMMON, choice("operator", "Operator", "name", f'smsc_binds{{{ALL},direction="out"}}')],
        [
            stat("Bound", zero(total("smsc_binds", more=f'{out},state="bound"')), "Binds to operators that are up.", "short", steps(RED, 1, GREEN), w=4),
            stat("Waiting to bind", zero(total("smsc_binds", more=f'{out},state=~"waiting|connecting|binding"')), "Binds that wait for their next attempt.", "short", steps(GREEN, 1, ORANGE), w=4),
            stat("Paused", zero(total("smsc_binds", more=f'{out},state="paused"')), "Binds that stopped for good, usually for a wrong password: smsc binds OPERATOR resume.", "short", IS_BAD, w=4),
            stat("Lost in an hour", in_an_hour("smsc_operator_binds_lost_total"), "Binds that failed or were lost.", "short", steps(GREEN, 5, YELLOW, 50, RED), w=4, decimals=0),
            stat("Throttled", rate("smsc_attempts_throttled_by_operator_total"), "Attempts per second that operators answered with a throttling status.", "mps", steps(GREEN, 0.1, YELLOW, 10, RED), w=4),
            stat("Accounts bound", zero(total("smsc_binds", more='direction="in",state="bound"')), "Binds of accounts.", "short", steps(BLUE), w=4),
            table("Operators", "One row per operator. Nothing bound and something waiting is what to look at first.", "name", [
                ("Bound", total("smsc_binds", "name", f'{out},state="bound"'), "short", steps(RED, 1, GREEN)),
                ("Waiting to bind", total("smsc_binds", "name", f'{out},state=~"waiting|connecting|binding"'), "short", None),
                ("Paused", total("smsc_binds", "name", f'{out},state="paused"'), "short", None),
                ("In flight", total("smsc_bind_in_flight", "name", out), "short", None),
                ("Queue", "sum by (name) (" + named(total("smsc_queue_waiting", "queue", queue)) + ")", "short", steps(GREEN, 10_000, YELLOW, 1_000_000, RED)),
                ("Oldest", "max by (name) (" + named(total("smsc_queue_oldest_seconds", "queue", queue, how="max")) + ")", "s", steps(GREEN, 60, YELLOW, 600, RED)),
                ("Taken/s", "sum by (name) (" + named(rate("smsc_queue_delivered_total", "queue", queue)) + ")", "mps", None),
                ("Failed/s", "sum by (name) (" + named(rate("smsc_queue_failed_total", "queue", queue)) + ")", "mps", None),
            ]),
            timeline("Since when", "Green while at least one bind of the operator is up.", total("smsc_binds", "name", f'{out},state="bound"') + " or 0 * " + total("smsc_binds", "name", out), "{{name}}", [up, some]),
            row("Traffic to operators"),
            graph("Taken", "Messages that operators took, per second.", (rate("smsc_queue_delivered_total", "queue", queue), "{{queue}}"), unit="mps", w=8),
            graph("Refused for good", "Messages that operators refused for good, per second.", (rate("smsc_queue_failed_total", "queue", queue), "{{queue}}"), unit="mps", w=8),
            graph("In flight", "Unanswered requests. At binds × window the window is the limit.", (total("smsc_bind_in_flight", "name", out), "{{name}}"), w=8),
            heatmap("Answer time", "From submit_sm to its answer, all operators.", f"sum by (le) (increase(smsc_attempt_seconds_bucket{{{ALL}}}[$__rate_interval]))"),
            graph(
                "Answers that were not wanted", "Late answers came after response_timeout and were adopted.",
                (rate("smsc_attempts_throttled_by_operator_total"), "throttled"), (rate("smsc_attempts_retried_total"), "retried"),
                (rate("smsc_attempts_outcome_unknown_total"), "never came"), (rate("smsc_attempts_answered_late_total"), "late"), unit="mps",
            ),
            row("Receipts of operators"),
            graph(
                "Receipts", "Matched with a message, or not.",
                (rate("smsc_operator_receipts_matched_total"), "matched"), (rate("smsc_operator_receipts_early_total"), "early"),
                (rate("smsc_operator_receipts_unmatched_total"), "unmatched"), (rate("smsc_operator_receipts_repeated_total"), "repeated"), unit="mps",
            ),
            graph("Parked and overdue", "Parked receipts match nothing yet; overdue messages ended UNKNOWN.", (total("smsc_receipts_parked"), "parked"), (in_an_hour("smsc_operator_receipts_overdue_total"), "overdue in an hour")),
            row("Accounts"),
            graph("Binds of accounts", "By account.", (total("smsc_binds", "name", 'direction="in",state="bound"'), "{{name}}"), w=8),
            graph("Binds refused", "By the command_status of the answer: a wrong password, too many binds.", (rate("smsc_binds_refused_total", "status"), "{{status}}"), (rate("smsc_connections_refused_total"), "too many connections"), unit="ops", w=8),
            graph("PDUs that could not be read", "By the command_status of the answer.", (rate("smsc_pdus_malformed_total", "status"), "{{status}}"), unit="ops", w=8),
        ],
    )  # fmt: skip


def queues():
    queue = 'queue=~"$queue"'
    waiting = total("smsc_queue_waiting", "queue", queue)
    taken = rate("smsc_queue_delivered_total", "queue", queue)
    return dashboard(
        "smsc-queues", "SMSC / Queues", "What waits where, for how long, and when it will be gone.",
        [*COMMON, choice("queue", "Queue", "queue", f"smsc_queue_waiting{{{ALL}}}")],
        [
            stat("Waiting", total("smsc_queue_waiting", more=queue), "Ready to go.", "short", steps(GREEN, 10_000, YELLOW, 1_000_000, RED), w=4),
            stat("Scheduled", total("smsc_queue_scheduled", more=queue), "Wait for their time: a retry, or a time the sender asked for.", "short", steps(BLUE), w=4),
            stat("In flight", total("smsc_queue_in_flight", more=queue), "At a session, without an answer.", "short", steps(BLUE), w=4),
            stat("Oldest", total("smsc_queue_oldest_seconds", more=queue, how="max"), "Age of the oldest waiting message.", "s", steps(GREEN, 60, YELLOW, 600, RED), w=4),
            stat("Empty in", f"max({waiting} / ({taken} > 0))", "At the present rate, without new messages.", "s", steps(GREEN, 300, YELLOW, 3600, RED), w=4),
            stat("Suspended", f"count({total('smsc_queue_suspended', 'queue', queue)} > 0) or vector(0)", "Queues that a person has suspended: smsc queues NAME resume.", "short", steps(GREEN, 1, ORANGE), w=4),
            table("Queues", "One row per queue, over all nodes. account:… are receipts and messages to ESMEs.", "queue", [
                ("Waiting", waiting, "short", steps(GREEN, 10_000, YELLOW, 1_000_000, RED)),
                ("Scheduled", total("smsc_queue_scheduled", "queue", queue), "short", None),
                ("In flight", total("smsc_queue_in_flight", "queue", queue), "short", None),
                ("Oldest", total("smsc_queue_oldest_seconds", "queue", queue, how="max"), "s", steps(GREEN, 60, YELLOW, 600, RED)),
                ("Sessions", total("smsc_queue_sessions", "queue", queue), "short", steps(ORANGE, 1, GREEN)),
                ("Taken/s", taken, "mps", None),
                ("Refused/s", rate("smsc_queue_failed_total", "queue", queue), "mps", None),
                ("Empty in", f"{waiting} / ({taken} > 0)", "s", None),
            ], h=10),
            graph("Waiting", "Ready to go, by queue.", (waiting, "{{queue}}"), stack=True),
            graph("Oldest", "Age of the oldest waiting message. A straight line upwards: nothing goes out.", (total("smsc_queue_oldest_seconds", "queue", queue, how="max"), "{{queue}}"), unit="s"),
            graph("Taken", "Messages that the destinations took, per second.", (taken, "{{queue}}"), unit="mps"),
            graph("Growth", "Messages per second by which the queue grows (or, below zero, shrinks).", (f"sum by (queue) (deriv(smsc_queue_waiting{{{ALL},{queue}}}[10m]))", "{{queue}}"), unit="mps"),
            graph("Scheduled", "Wait for their time.", (total("smsc_queue_scheduled", "queue", queue), "{{queue}}"), stack=True),
            graph("By node", "In cluster mode a queue's partitions are spread over the nodes.", (total("smsc_queue_waiting", "instance", queue), "{{instance}}"), stack=True),
            row("Refused at the door"),
            graph(
                "Full", "Submissions refused with ESME_RMSGQFUL because of a cap, or because there is no route.",
                (rate("smsc_submissions_queue_full_total"), "queue at its cap"), (rate("smsc_submissions_account_full_total"), "account at its cap"),
                (rate("smsc_submissions_without_route_total"), "no route"), unit="mps",
            ),
            graph("Limits", "Tokens of limited accounts and operators.", (rate("smsc_throttle_granted_total"), "granted"), (rate("smsc_throttle_refused_total"), "refused"), unit="ops"),
        ],
    )  # fmt: skip


def message():
    return dashboard(
        "smsc-message", "SMSC / One message", "From a message id to its trace.",
        [DATASOURCE, source("tempo", "Traces", "tempo"), box("message_id", "Message id")], [], refresh="",
    )  # fmt: skip

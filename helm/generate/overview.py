"""The dashboard to begin with."""

from panels import (
    BLUE,
    GREEN,
    GREY,
    ORANGE,
    RED,
    YELLOW,
    alerts,
    dashboard,
    graph,
    row,
    stat,
    steps,
)
from queries import ALL, COMMON, rate, total, quantile, zero

IS_BAD = steps(GREEN, 1, RED)
STATES = {
    "DELIVERED": GREEN,
    "ENROUTE": BLUE,
    "EXPIRED": YELLOW,
    "DELETED": GREY,
    "UNDELIVERABLE": ORANGE,
    "REJECTED": RED,
    "UNKNOWN": "purple",
}


def board():
    delivered = rate("smsc_messages_final_total", more='state="DELIVERED"')
    final = rate("smsc_messages_final_total")
    operator_binds = total("smsc_binds", more='direction="out",state="bound"')
    return dashboard(
        "smsc-overview",
        "SMSC / Overview",
        "Is it well? Where to look if it is not.",
        COMMON,
        [
            stat(
                "Accepted",
                rate("smsc_messages_accepted_total"),
                "Messages acknowledged after their commit, per second.",
                "mps",
                steps(BLUE),
            ),
            stat(
                "Delivered",
                zero(delivered),
                "Messages that ended DELIVERED, per second.",
                "mps",
                steps(GREEN),
            ),
            stat(
                "Success",
                f"{delivered} / {final}",
                "Share of the messages that ended which ended DELIVERED.",
                "percentunit",
                steps(RED, 0.5, ORANGE, 0.8, YELLOW, 0.95, GREEN),
                decimals=1,
            ),
            stat(
                "Waiting",
                total("smsc_queue_waiting", more='queue=~"operator:.*"'),
                "Messages ready to go to operators.",
                "short",
                steps(GREEN, 10_000, YELLOW, 1_000_000, RED),
            ),
            stat(
                "Oldest",
                total("smsc_queue_oldest_seconds", how="max"),
                "Age of the oldest message that waits, over all queues.",
                "s",
                steps(GREEN, 60, YELLOW, 600, RED),
            ),
            stat(
                "Operator binds",
                zero(operator_binds),
                "Binds to operators that are up.",
                "short",
                steps(RED, 1, GREEN),
            ),
            stat(
                "Nodes",
                "count(" + f"smsc_draining{{{ALL}}}" + " == 0)",
                "Nodes that answer and are not draining.",
                "short",
                steps(RED, 1, GREEN),
            ),
            stat(
                "Below disk floor",
                total("smsc_store_below_floor"),
                "Nodes that refuse messages because their disk is nearly full.",
                "short",
                IS_BAD,
            ),
            row("Traffic"),
            graph(
                "In and out",
                "Accepted and ended. When accepted stays above ended, queues grow.",
                (rate("smsc_messages_accepted_total"), "accepted"),
                (final, "ended"),
                (
                    rate("smsc_queue_delivered_total", more='queue=~"operator:.*"'),
                    "taken by operators",
                ),
                unit="mps",
                w=8,
                colours={"accepted": BLUE, "ended": GREEN, "taken by operators": YELLOW},
            ),
            graph(
                "How messages end",
                "Final states per second.",
                (rate("smsc_messages_final_total", "state"), "{{state}}"),
                unit="mps",
                stack=True,
                w=8,
                colours=STATES,
            ),
            graph(
                "Refused",
                "Submissions refused, by the command_status of the answer.",
                (rate("smsc_submissions_refused_total", "status"), "{{status}}"),
                unit="mps",
                stack=True,
                w=8,
            ),
            row("Queues and operators"),
            graph(
                "Deepest queues",
                "Messages ready to go, ten deepest queues.",
                (f"topk(10, {total('smsc_queue_waiting', 'queue')})", "{{queue}}"),
                w=8,
            ),
            graph(
                "Oldest messages",
                "Age of the oldest waiting message, ten worst queues.",
                (
                    f"topk(10, {total('smsc_queue_oldest_seconds', 'queue', how='max')})",
                    "{{queue}}",
                ),
                unit="s",
                w=8,
            ),
            graph(
                "Answer time of operators",
                "From submit_sm to its answer, all operators together.",
                (quantile(0.5, "smsc_attempt_seconds"), "p50"),
                (quantile(0.95, "smsc_attempt_seconds"), "p95"),
                (quantile(0.99, "smsc_attempt_seconds"), "p99"),
                unit="s",
                w=8,
                colours={"p50": GREEN, "p95": YELLOW, "p99": RED},
            ),
            row("Trouble"),
            alerts("Alerts"),
            graph(
                "Attempts that did not succeed",
                "Throttled: the operator wants less. Outcome unknown: it does not answer. Failed over: the route's next target got it.",
                (rate("smsc_attempts_retried_total"), "retried"),
                (rate("smsc_attempts_throttled_by_operator_total"), "throttled"),
                (rate("smsc_attempts_outcome_unknown_total"), "outcome unknown"),
                (rate("smsc_messages_failed_over_total"), "failed over"),
                (rate("smsc_messages_expired_total"), "expired"),
                unit="mps",
                w=8,
            ),
            graph(
                "Receipts that did not fit",
                "Unmatched ones are parked and compared again; overdue means that none came in time.",
                (rate("smsc_operator_receipts_unmatched_total"), "unmatched"),
                (rate("smsc_operator_receipts_overdue_total"), "overdue"),
                (rate("smsc_operator_receipts_dropped_total"), "dropped"),
                (rate("smsc_receipts_refused_total"), "refused by account"),
                (rate("smsc_receipts_without_account_total"), "without account"),
                unit="mps",
                w=8,
            ),
        ],
    )

"""The dashboard about queues."""

from panels import (
    BLUE,
    GREEN,
    ORANGE,
    RED,
    YELLOW,
    choice,
    dashboard,
    graph,
    row,
    stat,
    steps,
    table,
)
from queries import ALL, COMMON, rate, total


def board():
    queue = 'queue=~"$queue"'
    waiting = total("smsc_queue_waiting", "queue", queue)
    taken = rate("smsc_queue_delivered_total", "queue", queue)
    return dashboard(
        "smsc-queues",
        "SMSC / Queues",
        "What waits where, for how long, and when it will be gone.",
        [*COMMON, choice("queue", "Queue", "queue", f"smsc_queue_waiting{{{ALL}}}")],
        [
            stat(
                "Waiting",
                total("smsc_queue_waiting", more=queue),
                "Ready to go.",
                "short",
                steps(GREEN, 10_000, YELLOW, 1_000_000, RED),
                w=4,
            ),
            stat(
                "Scheduled",
                total("smsc_queue_scheduled", more=queue),
                "Wait for their time: a retry, or a time the sender asked for.",
                "short",
                steps(BLUE),
                w=4,
            ),
            stat(
                "In flight",
                total("smsc_queue_in_flight", more=queue),
                "At a session, without an answer.",
                "short",
                steps(BLUE),
                w=4,
            ),
            stat(
                "Oldest",
                total("smsc_queue_oldest_seconds", more=queue, how="max"),
                "Age of the oldest waiting message.",
                "s",
                steps(GREEN, 60, YELLOW, 600, RED),
                w=4,
            ),
            stat(
                "Empty in",
                f"max({waiting} / ({taken} > 0))",
                "At the present rate, without new messages.",
                "s",
                steps(GREEN, 300, YELLOW, 3600, RED),
                w=4,
            ),
            stat(
                "Suspended",
                f"count({total('smsc_queue_suspended', 'queue', queue)} > 0) or vector(0)",
                "Queues that a person has suspended: smsc queues NAME resume.",
                "short",
                steps(GREEN, 1, ORANGE),
                w=4,
            ),
            table(
                "Queues",
                "One row per queue, over all nodes. account:… are receipts and messages to ESMEs.",
                "queue",
                [
                    ("Waiting", waiting, "short", steps(GREEN, 10_000, YELLOW, 1_000_000, RED)),
                    ("Scheduled", total("smsc_queue_scheduled", "queue", queue), "short", None),
                    ("In flight", total("smsc_queue_in_flight", "queue", queue), "short", None),
                    (
                        "Oldest",
                        total("smsc_queue_oldest_seconds", "queue", queue, how="max"),
                        "s",
                        steps(GREEN, 60, YELLOW, 600, RED),
                    ),
                    (
                        "Sessions",
                        total("smsc_queue_sessions", "queue", queue),
                        "short",
                        steps(ORANGE, 1, GREEN),
                    ),
                    ("Taken/s", taken, "mps", None),
                    ("Refused/s", rate("smsc_queue_failed_total", "queue", queue), "mps", None),
                    ("Empty in", f"{waiting} / ({taken} > 0)", "s", None),
                ],
                h=10,
            ),
            graph("Waiting", "Ready to go, by queue.", (waiting, "{{queue}}"), stack=True),
            graph(
                "Oldest",
                "Age of the oldest waiting message. A straight line upwards: nothing goes out.",
                (total("smsc_queue_oldest_seconds", "queue", queue, how="max"), "{{queue}}"),
                unit="s",
            ),
            graph(
                "Taken",
                "Messages that the destinations took, per second.",
                (taken, "{{queue}}"),
                unit="mps",
            ),
            graph(
                "Growth",
                "Messages per second by which the queue grows (or, below zero, shrinks).",
                (f"sum by (queue) (deriv(smsc_queue_waiting{{{ALL},{queue}}}[10m]))", "{{queue}}"),
                unit="mps",
                below_zero=True,
            ),
            graph(
                "In and out",
                "Put into the queues and given to sessions, per second; each attempt counts.",
                (rate("smsc_queue_enqueued_total", more=queue), "in"),
                (rate("smsc_queue_granted_total", more=queue), "out"),
                (rate("smsc_queue_retried_total", more=queue), "to be repeated"),
                (rate("smsc_queue_expired_total", more=queue), "expired"),
                unit="mps",
            ),
            graph(
                "What sessions would take now",
                "Room in the windows. None: the destination is the limit. Much of it, and messages wait: its rate is.",
                (total("smsc_queue_room", "queue", queue), "{{queue}}"),
            ),
            graph(
                "Not in memory",
                "Ids that wait in the index file, beyond queue.memory_items.",
                (total("smsc_queue_spilled", "queue", queue), "{{queue}}"),
            ),
            graph(
                "Receipts and messages to accounts",
                "Wait for a receiver, or are at one.",
                (total("smsc_receipts_waiting", "queue", queue), "{{queue}}"),
                stack=True,
            ),
            graph(
                "Scheduled",
                "Wait for their time.",
                (total("smsc_queue_scheduled", "queue", queue), "{{queue}}"),
                stack=True,
            ),
            graph(
                "By node",
                "In cluster mode a queue's partitions are spread over the nodes.",
                (total("smsc_queue_waiting", "instance", queue), "{{instance}}"),
                stack=True,
            ),
            row("Refused at the door"),
            graph(
                "Full",
                "Submissions refused with ESME_RMSGQFUL because of a cap, because there is no route, or because there is "
                "no such number.",
                (rate("smsc_submissions_queue_full_total"), "queue at its cap"),
                (rate("smsc_submissions_account_full_total"), "account at its cap"),
                (rate("smsc_submissions_without_route_total"), "no route"),
                (rate("smsc_submissions_to_unknown_numbers_total", "range"), "no such number in {{range}}"),
                unit="mps",
            ),
            graph(
                "Limits",
                "Tokens of limited accounts and operators.",
                (rate("smsc_throttle_granted_total"), "granted"),
                (rate("smsc_throttle_refused_total"), "refused"),
                (rate("smsc_throttle_waits_total"), "pauses of queues"),
                unit="ops",
            ),
            row("MO rules"),
            graph(
                "Messages taken by rules",
                "Messages of operators, by the rule (`[[mo_rule]]`) that took them.",
                (rate("smsc_mo_rule_matches_total", "rule, action"), "{{rule}} ({{action}})"),
                unit="mps",
            ),
            graph(
                "Automatic answers",
                "What became of the answers that rules were to give; `later` is an attempt that follows.",
                (rate("smsc_mo_replies_total", "rule, result"), "{{rule}}: {{result}}"),
                unit="mps",
            ),
        ],
    )

"""The dashboard about operators, their binds, and the accounts that are bound to us."""

from panels import (
    BLUE,
    GREEN,
    IS_BAD,
    ORANGE,
    RED,
    YELLOW,
    choice,
    dashboard,
    graph,
    heatmap,
    row,
    stat,
    steps,
    table,
    timeline,
)
from queries import ALL, COMMON, in_an_hour, quantile, rate, total, zero

RESULTS = {
    "ok": GREEN,
    "temporary": YELLOW,
    "throttled": ORANGE,
    "permanent": RED,
    "unanswered": "purple",
}


def board():
    out = 'direction="out",name=~"$operator"'
    queue = 'queue=~"operator:$operator"'
    own = 'operator=~"$operator"'
    named = lambda expr: f'label_replace({expr}, "name", "$1", "queue", "operator:(.*)")'  # noqa: E731
    up = {"type": "value", "options": {"0": {"text": "down", "color": RED, "index": 0}}}
    some = {
        "type": "range",
        "options": {"from": 1, "to": 1e9, "result": {"text": "bound", "color": GREEN, "index": 1}},
    }
    return dashboard(
        "smsc-operators",
        "SMSC / Operators and binds",
        "Which operator is down, slow or throttling, and who is bound to us.",
        [*COMMON, choice("operator", "Operator", "name", f'smsc_binds{{{ALL},direction="out"}}')],
        [
            stat(
                "Bound",
                zero(total("smsc_binds", more=f'{out},state="bound"')),
                "Binds to operators that are up.",
                "short",
                steps(RED, 1, GREEN),
                w=4,
            ),
            stat(
                "Waiting to bind",
                zero(total("smsc_binds", more=f'{out},state=~"waiting|connecting|binding"')),
                "Binds that wait for their next attempt.",
                "short",
                steps(GREEN, 1, ORANGE),
                w=4,
            ),
            stat(
                "Paused",
                zero(total("smsc_binds", more=f'{out},state="paused"')),
                "Binds that stopped for good, usually for a wrong password: smsc operator resume OPERATOR.",
                "short",
                IS_BAD,
                w=4,
            ),
            stat(
                "Lost in an hour",
                in_an_hour("smsc_operator_binds_lost_total"),
                "Binds that failed or were lost.",
                "short",
                steps(GREEN, 5, YELLOW, 50, RED),
                w=4,
                decimals=0,
            ),
            stat(
                "Throttled",
                rate("smsc_attempts_throttled_by_operator_total"),
                "Attempts per second that operators answered with a throttling status.",
                "mps",
                steps(GREEN, 0.1, YELLOW, 10, RED),
                w=4,
            ),
            stat(
                "Accounts bound",
                zero(total("smsc_binds", more='direction="in",state="bound"')),
                "Binds of accounts.",
                "short",
                steps(BLUE),
                w=4,
            ),
            table(
                "Operators",
                "One row per operator. Nothing bound and something waiting is what to look at first.",
                "name",
                [
                    (
                        "Bound",
                        total("smsc_binds", "name", f'{out},state="bound"'),
                        "short",
                        steps(RED, 1, GREEN),
                    ),
                    (
                        "Waiting to bind",
                        total("smsc_binds", "name", f'{out},state=~"waiting|connecting|binding"'),
                        "short",
                        None,
                    ),
                    ("Paused", total("smsc_binds", "name", f'{out},state="paused"'), "short", None),
                    ("In flight", total("smsc_bind_in_flight", "name", out), "short", None),
                    (
                        "Queue",
                        "sum by (name) ("
                        + named(total("smsc_queue_waiting", "queue", queue))
                        + ")",
                        "short",
                        steps(GREEN, 10_000, YELLOW, 1_000_000, RED),
                    ),
                    (
                        "Oldest",
                        "max by (name) ("
                        + named(total("smsc_queue_oldest_seconds", "queue", queue, how="max"))
                        + ")",
                        "s",
                        steps(GREEN, 60, YELLOW, 600, RED),
                    ),
                    (
                        "Taken/s",
                        "sum by (name) ("
                        + named(rate("smsc_queue_delivered_total", "queue", queue))
                        + ")",
                        "mps",
                        None,
                    ),
                    (
                        "Failed/s",
                        "sum by (name) ("
                        + named(rate("smsc_queue_failed_total", "queue", queue))
                        + ")",
                        "mps",
                        None,
                    ),
                ],
            ),
            timeline(
                "Since when",
                "Green while at least one bind of the operator is up.",
                total("smsc_binds", "name", f'{out},state="bound"')
                + " or 0 * "
                + total("smsc_binds", "name", out),
                "{{name}}",
                [up, some],
            ),
            timeline(
                "Incidents",
                "Operators that refuse, fail or answer slowly more than in the hour before: smsc incident list.",
                total("smsc_operator_incident", "queue, kind", queue, how="max"),
                "{{queue}}: {{kind}}",
                [{"type": "value", "options": {"1": {"text": "not well", "color": RED, "index": 0}}}],
            ),
            row("Traffic to operators"),
            graph(
                "Taken",
                "Messages that operators took, per second.",
                (rate("smsc_queue_delivered_total", "queue", queue), "{{queue}}"),
                unit="mps",
                w=8,
            ),
            graph(
                "Refused for good",
                "Messages that operators refused for good, per second.",
                (rate("smsc_queue_failed_total", "queue", queue), "{{queue}}"),
                unit="mps",
                w=8,
            ),
            graph(
                "Windows in use",
                "Unanswered requests, of the windows of all binds. At 100 % the window is the limit.",
                (
                    f"{total('smsc_bind_in_flight', 'name', out)} / ({total('smsc_bind_window', 'name', out)} > 0)",
                    "{{name}}",
                ),
                unit="percentunit",
                w=8,
            ),
            graph(
                "Answers",
                "Attempts per second, by what the answer was.",
                (rate("smsc_attempts_total", "result", queue), "{{result}}"),
                unit="mps",
                stack=True,
                w=8,
                colours=RESULTS,
            ),
            graph(
                "Throttled",
                "Share of the attempts that an operator answered with a throttling status.",
                (
                    rate("smsc_attempts_total", "queue", f'{queue},result="throttled"')
                    + " / "
                    + rate("smsc_attempts_total", "queue", queue),
                    "{{queue}}",
                ),
                unit="percentunit",
                w=8,
            ),
            graph(
                "Answer time, p95",
                "From submit_sm to its answer, by operator.",
                (quantile(0.95, "smsc_attempt_seconds", "queue", queue), "{{queue}}"),
                unit="s",
                w=8,
            ),
            heatmap(
                "Answer time",
                "From submit_sm to its answer, the chosen operators.",
                f"sum by (le) (increase(smsc_attempt_seconds_bucket{{{ALL},{queue}}}[$__rate_interval]))",
            ),
            graph(
                "Answers that were not wanted",
                "Late answers came after response_timeout and were adopted.",
                (rate("smsc_attempts_throttled_by_operator_total"), "throttled"),
                (rate("smsc_attempts_retried_total"), "retried"),
                (rate("smsc_attempts_outcome_unknown_total"), "never came"),
                (rate("smsc_attempts_answered_late_total"), "late"),
                unit="mps",
            ),
            row("Connections of operators"),
            graph(
                "Octets",
                "Octets of SMPP per second, without those of TLS.",
                (rate("smsc_operator_octets_total", "operator, direction", own), "{{operator}} {{direction}}"),
                unit="Bps",
                w=8,
            ),
            graph(
                "Receipts by state",
                "Receipts per second, by their state. Unmatched ones have found no message (yet).",
                (rate("smsc_operator_receipts_total", "operator, state, result", own), "{{operator}} {{state}} {{result}}"),
                unit="mps",
                w=8,
            ),
            graph(
                "Long messages",
                "Messages that carry a long text, per second: parts, or in message_payload.",
                (rate("smsc_operator_long_messages_total", "operator, form", own), "{{operator}} {{form}}"),
                unit="mps",
                w=8,
            ),
            graph(
                "Reconnects",
                "Failed connections and lost binds, per second.",
                (rate("smsc_operator_reconnects_total", "operator", own), "{{operator}}"),
                w=8,
            ),
            graph(
                "Silent operators",
                "enquire_links that were not answered in time, per second.",
                (rate("smsc_operator_enquire_link_timeouts_total", "operator", own), "{{operator}}"),
                w=8,
            ),
            graph(
                "Waits for the rate",
                "How often queues waited for tokens, and commands that went back to their stream, per second.",
                (rate("smsc_operator_throttle_waits_total", "queue", queue), "{{queue}}"),
                (rate("smsc_operator_commands_throttled_total", "queue", queue), "commands to {{queue}}"),
                w=8,
            ),
            row("Receipts of operators"),
            graph(
                "Receipts",
                "Matched with a message, or not.",
                (rate("smsc_operator_receipts_matched_total"), "matched"),
                (rate("smsc_operator_receipts_early_total"), "early"),
                (rate("smsc_operator_receipts_unmatched_total"), "unmatched"),
                (rate("smsc_operator_receipts_repeated_total"), "repeated"),
                unit="mps",
            ),
            graph(
                "Parked and overdue",
                "Parked receipts match nothing yet; overdue messages ended UNKNOWN.",
                (total("smsc_receipts_parked"), "parked"),
                (in_an_hour("smsc_operator_receipts_overdue_total"), "overdue in an hour"),
            ),
            row("GSM networks"),
            graph(
                "Connections to GSM networks",
                "Nodes that are connected to the HLR or a signalling gateway, those whose name another program seems to have, and those that a gateway takes, by network.",
                (total("smsc_binds", "name", 'direction="gsm",state="bound"'), "{{name}}"),
                (total("smsc_gsm_name_taken", "gsm"), "{{gsm}}: name taken"),
                (total("smsc_gsm_gateway_active", "gsm, gateway"), "{{gsm}}: {{gateway}}"),
                w=6,
            ),
            graph(
                "Answers of GSM networks",
                "Attempts at handsets, by network and result; GSUP_NO_ANSWER are those that nothing answered.",
                (rate("smsc_attempts_total", "queue, result", 'queue=~"gsm:.*"'), "{{queue}} {{result}}"),
                (rate("smsc_attempts_refused_total", "queue, status", 'queue=~"gsm:.*"'), "{{queue}} {{status}}"),
                unit="mps",
                w=6,
            ),
            graph(
                "Messages of handsets",
                "What handsets send, by network and RP-cause of the answer; 0 is RP-ACK.",
                (rate("smsc_gsm_submissions_total", "gsm, cause"), "{{gsm}}: {{cause}}"),
                unit="mps",
                w=6,
            ),
            graph(
                "Under way to handsets",
                "Messages that wait for the answer of a network.",
                (total("smsc_bind_in_flight", "name", 'direction="gsm"'), "{{name}}"),
                w=6,
            ),
            graph(
                "What other networks ask",
                "Requests over MAP that are not served, what home routing does with those for our own subscribers, and what the firewall finds.",
                (rate("smsc_gsm_unserved_total", "gsm, result"), "{{gsm}}: {{result}}"),
                (rate("smsc_gsm_home_routing_total", "gsm, event"), "{{gsm}}: {{event}}"),
                (rate("smsc_gsm_firewall_requests_total", "gsm, rule, action", 'action!="pass"'), "{{gsm}}: {{rule}} {{action}}"),
                unit="mps",
                w=24,
            ),
            row("Accounts"),
            graph(
                "Binds of accounts",
                "By account.",
                (total("smsc_binds", "name", 'direction="in",state="bound"'), "{{name}}"),
                w=8,
            ),
            graph(
                "Binds refused",
                "By the command_status of the answer, and by reason where it is about who binds.",
                (rate("smsc_binds_refused_total", "status"), "{{status}}"),
                (rate("smsc_binds_refused_by_reason_total", "reason"), "reason: {{reason}}"),
                (rate("smsc_connections_refused_total"), "too many connections"),
                unit="ops",
                w=8,
            ),
            graph(
                "PDUs that could not be read",
                "By the command_status of the answer.",
                (rate("smsc_pdus_malformed_total", "status"), "{{status}}"),
                unit="ops",
                w=8,
            ),
            graph(
                "Requests of local programs",
                "Over the UNIX socket, by request and result.",
                (rate("smsc_local_requests_total", "request, result"), "{{request}}: {{result}}"),
                unit="ops",
                w=12,
            ),
            graph(
                "Local programs",
                "Connections over the UNIX socket, by account, and those that the SMSC has ended, by reason.",
                (total("smsc_binds", "name", 'direction="local",state="bound"'), "{{name}}"),
                (rate("smsc_local_connections_ended_total", "reason"), "ended a second: {{reason}}"),
                w=12,
            ),
        ],
    )

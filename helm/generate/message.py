"""The dashboard about one message: from its id to its trace, and traces that are worth a look."""

from panels import box, dashboard, graph, row, source, text, trace, traces
from queries import COMMON, rate, total

HELP = """\
**From an id to its trace.** Put the id that ESMEs get in submit_sm_resp into *Message id*; of a
traced message the table below shows the trace. Click its id to see it here or in
Explore.

Which messages are traced is in `[telemetry]` of the configuration; those that fail always are. Of
every message, traced or not, `smsc message show ID` or `GET /v1/messages/ID` tells route, attempts, answers
of the operator and state. Numbers are masked in traces; to find a message by its recipient:
`GET /v1/messages?to=NUMBER`.
"""


def board():
    return dashboard(
        "smsc-message",
        "SMSC / One message",
        "From a message id to its trace.",
        [
            *COMMON,
            source("tempo", "Traces", "tempo"),
            box("message_id", "Message id"),
            box("trace_id", "Trace"),
        ],
        [
            text(HELP, w=24, h=5),
            traces(
                "Traces of message $message_id",
                "A receipt that comes long after its message begins a second trace, linked with the first.",
                '{ span.messaging.message.id = "$message_id" }',
                w=24,
                h=5,
            ),
            trace("Trace $trace_id", "$trace_id", w=24, h=16),
            row("Worth a look"),
            traces(
                "Failed lately",
                "Messages that ended UNDELIVERABLE, REJECTED, EXPIRED or UNKNOWN, and attempts that failed.",
                '{ span.messaging.system = "smpp" && status = error }',
            ),
            traces(
                "Slow answers of operators",
                "Attempts whose answer took longer than a second.",
                '{ span.messaging.operation.type = "send" && duration > 1s }',
            ),
            row("Is tracing well?"),
            graph(
                "Traced messages",
                "head: picked by telemetry.trace_ratio; parent: the sender asked for it; failure: it failed.",
                (rate("smsc_traces_total", "reason"), "{{reason}}"),
                unit="mps",
                stack=True,
            ),
            graph(
                "Spans",
                "What the collector has taken, and what was lost.",
                (rate("smsc_trace_spans_exported_total"), "taken"),
                (rate("smsc_trace_spans_dropped_total", "reason"), "lost: {{reason}}"),
                (total("smsc_trace_spans_waiting"), "waiting"),
                unit="short",
            ),
        ],
        refresh="",
    )

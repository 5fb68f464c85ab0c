"""The dashboard about one message."""

from panels import box, dashboard, source
from queries import DATASOURCE


def board():
    return dashboard(
        "smsc-message",
        "SMSC / One message",
        "From a message id to its trace.",
        [DATASOURCE, source("tempo", "Traces", "tempo"), box("message_id", "Message id")],
        [],
        refresh="",
    )

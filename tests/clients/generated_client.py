"""A business system with a client that openapi-python-client has generated from the server's own document.

    generated_client.py URL KEY

The generated package is `generated`, in the folder of this script's copy; mypy checks both. The last line is JSON for
the Rust test that started it; any surprise ends it with a traceback.
"""

import datetime
import json
import sys
import time
from http import HTTPStatus

from generated import AuthenticatedClient
from generated.api.account import delete_opt_outs_number, get_balance, get_opt_outs, put_opt_outs_number
from generated.api.messages import (
    get_messages,
    get_messages_id,
    patch_messages_id,
    post_messages,
    post_messages_estimate,
    post_messages_id_cancel,
)
from generated.models import (
    Balance,
    Batch,
    ChangedOptOut,
    ChangeOrder,
    Done,
    Estimates,
    MessageDetails,
    MessageOrder,
    MessageOrderMetadataType0,
    MessagePage,
    OwnOptOuts,
    Problem,
    RecipientValues,
    RecipientValuesValues,
    StateName,
    Submitted,
)

TO = "447700900123"
PATIENCE = 60


def submitted(client: AuthenticatedClient, order: MessageOrder | Batch) -> list[str]:
    answer = post_messages.sync(client=client, body=order)
    assert isinstance(answer, Submitted), answer
    assert answer.refused == 0, answer
    return [message.id for message in answer.messages if isinstance(message.id, str)]


def ended(client: AuthenticatedClient, identifier: str) -> MessageDetails:
    until = time.monotonic() + PATIENCE
    while time.monotonic() < until:
        message = get_messages_id.sync(identifier, client=client)
        assert isinstance(message, MessageDetails), message
        if message.ended_at:
            return message
        time.sleep(0.05)
    raise AssertionError(f"{identifier} has not ended")


def refused(answer: object, status: int, field: str | None) -> None:
    assert isinstance(answer, Problem), answer
    assert answer.status == status, answer
    if field is not None:
        assert answer.field == field, answer


def journey(client: AuthenticatedClient) -> str:
    metadata = MessageOrderMetadataType0()
    metadata["shop"] = 1
    order = MessageOrder(to=TO, from_="ACME", text="hello", reference="order-7", metadata=metadata)
    estimate = post_messages_estimate.sync(client=client, body=order)
    assert isinstance(estimate, Estimates) and estimate.parts == 1, estimate
    [identifier] = submitted(client, order)
    message = ended(client, identifier)
    assert message.state is StateName.DELIVERED, message
    assert message.reference == "order-7" and message.to == TO
    assert [step.what for step in message.timeline][0] == "accepted"
    assert isinstance(message.accepted_at, datetime.datetime)

    values = RecipientValuesValues()
    values["name"] = "Ann"
    ann = RecipientValues(number="447700900001", values=values)
    several = Batch(messages=[MessageOrder(to=[ann, "447700900002"], from_="ACME", text="Dear reader")])
    assert len(submitted(client, several)) == 2
    page = get_messages.sync(client=client, state=StateName.DELIVERED, limit=2)
    assert isinstance(page, MessagePage) and page.messages, page

    tomorrow = datetime.datetime.now(datetime.timezone.utc) + datetime.timedelta(days=1)
    [waiting] = submitted(client, MessageOrder(to=TO, from_="ACME", text="later", send_at=tomorrow))
    changed = patch_messages_id.sync(waiting, client=client, body=ChangeOrder(text="changed"))
    assert isinstance(changed, MessageDetails) and changed.state is StateName.ENROUTE, changed
    cancelled = post_messages_id_cancel.sync(waiting, client=client)
    assert isinstance(cancelled, Done) and not cancelled.pending, cancelled

    balance = get_balance.sync(client=client)
    assert isinstance(balance, Balance) and not balance.prepaid, balance
    put = put_opt_outs_number.sync("447700900999", client=client)
    assert isinstance(put, ChangedOptOut) and put.changed, put
    listed = get_opt_outs.sync(client=client)
    assert isinstance(listed, OwnOptOuts) and listed.opt_outs[0].number == "447700900999", listed
    taken = delete_opt_outs_number.sync("447700900999", client=client, reason="signed up again")
    assert isinstance(taken, ChangedOptOut) and taken.changed, taken
    return identifier


def mistakes(url: str, client: AuthenticatedClient) -> None:
    wrong = post_messages.sync_detailed(client=client, body=MessageOrder(to="nobody", from_="ACME", text="x"))
    assert wrong.status_code == HTTPStatus.BAD_REQUEST
    refused(wrong.parsed, 400, "to")
    refused(get_messages_id.sync("17", client=client), 404, None)
    refused(patch_messages_id.sync("17", client=client, body=ChangeOrder(text="x")), 404, None)
    stranger = AuthenticatedClient(base_url=url, token="smsck_wrong")
    refused(get_balance.sync(client=stranger), 401, None)


def main() -> None:
    url, key = sys.argv[1:3]
    client = AuthenticatedClient(base_url=url, token=key)
    identifier = journey(client)
    mistakes(url, client)
    print(json.dumps({"sent": identifier}))


main()

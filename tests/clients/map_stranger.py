"""A node of another network that floods a service centre: with dialogues that it never ends, segments of messages that
never get whole, or questions that only an HLR answers.
"""

import asyncio

import map_tcap as tcap
from map_m3ua import Link
from map_sccp import UDT, Address, Unitdata, encode

SSN_MSC = 8
# What is replaced by a number in each message: as long as a transaction identifier, and as a reference of segments.
TRANSACTION, REFERENCE = bytes.fromhex("deadbeef"), bytes.fromhex("abcdef")


def _dialogue(called, calling):
    """An empty begin of a handset's message, after which nothing comes."""
    data = tcap.encode("begin", TRANSACTION, portion=tcap.request((tcap.MO_RELAY, 3)))
    return encode(Unitdata(UDT, called, calling, data))[0], TRANSACTION


def _segment(called, calling):
    """The first of two segments."""
    whole = Unitdata(UDT, called, calling, bytes(200))
    return encode(whole, 100, int.from_bytes(REFERENCE, "big"))[0], REFERENCE


def _question(called, calling):
    """sendRoutingInfoForSM about a subscriber of the network."""
    argument = {
        "msisdn": tcap.address_string("4916000001"),
        "sm-RP-PRI": True,
        "serviceCentreAddress": tcap.address_string(calling.digits),
    }
    invoke = tcap.invoke(1, tcap.SEND_ROUTING, 3, argument)
    portion = tcap.request((tcap.GATEWAY, 3))
    data = tcap.encode("begin", TRANSACTION, portion=portion, components=[invoke])
    return encode(Unitdata(UDT, called, calling, data))[0], TRANSACTION


def _semi_octets(digits):
    """The digits of a global title as they are in a message."""
    even = digits + "0" * (len(digits) % 2)
    return bytes(int(even[at + 1] + even[at], 16) for at in range(0, len(even), 2))


KINDS = {"dialogues": _dialogue, "segments": _segment, "questions": _question}


async def flood(like, kind, count, point_code, digits, centre, centre_point_code):
    """Floods through the gateway of a link, from a point code and global title of its own; returns what came back."""
    is_active = asyncio.Event()

    def on_change(link):
        if link.state == "active":
            is_active.set()

    link = Link(like.address, [point_code], [], None, like.trace, lambda *_: None, on_change, None)
    link.is_deaf = True
    # A title is routed to the network, whichever node has it.
    like.unread = _semi_octets(digits)
    running = asyncio.create_task(link.run())
    await is_active.wait()
    sccp, mark = KINDS[kind](Address(SSN_MSC, centre), Address(SSN_MSC, digits))
    label = {"opc": point_code, "dpc": centre_point_code, "ni": 0, "mp": 0, "sls": 1}
    octets = link.data(label, sccp).to_bytes()
    assert octets.count(mark) == 1, octets.hex()
    await link.flood(octets, mark, count)
    # Until it has been quiet for a moment.
    before = -1
    while before != link.counts["received"]:
        before = link.counts["received"]
        await asyncio.sleep(0.5)
    link.cut()
    running.cancel()
    return {"received": before}

"""Tries `map_network.py` through real signalling gateways: a service centre of a few lines that sends what an SMSC sends.

    map_centre.py --stp 127.0.0.1:2905 --point-code 0.1.1 --network 0.2.1 --orders PORT

It takes for granted the numbers of `usual()` in the network, prints {"event": "done"} at the end, and ends with a traceback
where the network does something else than expected.
"""

import argparse
import asyncio
import json

import map_tcap as tcap
from map_core import SSN_HLR, SSN_MSC, SSN_SGSN
from map_m3ua import Link, Trace, point_code
from map_sccp import UDT, Address, Reassembly, Unitdata, decode, encode

CENTRE, HLR, MSC, SGSN = "4917000000", "491600001", "491600002", "491600003"
NUMBER, IMSI = "4916000001", "001010000000001"
PATIENCE = 10
HEAD = "0405912143f5"
TIME = "32112212344400"
HELLO = f"{HEAD}0000{TIME}05c8329bfd06"
LONG = f"{HEAD}0004{TIME}8c" + "00" * 140
SUBMIT = "010105912143f5000005c8329bfd06"


class Centre:
    def __init__(self, own, network):
        self.own, self.network = own, network
        self.links, self.reassembly, self.next_id = [], Reassembly(), 0
        self.waiting, self.begun, self.returned = {}, asyncio.Queue(), asyncio.Queue()

    def on_data(self, link, label, octets):
        found = decode(octets)
        if found.cause is not None:
            self.returned.put_nowait((found.cause, str(found.called)))
            return
        whole = self.reassembly.add(found)
        if whole is None:
            return
        message = tcap.decode(whole.data)
        if message.kind == "begin":
            self.begun.put_nowait((whole.calling, message))
        else:
            self.waiting.pop(message.dtid).set_result((whole.calling, message))

    def write(self, called, data, number):
        message = Unitdata(UDT, called, Address(SSN_MSC, CENTRE), data, in_order=True, return_on_error=True)
        active = [one for one in self.links if one.state == "active"]
        label = {"opc": self.own, "dpc": self.network, "ni": 0, "mp": 0, "sls": number % 16}
        for octets in encode(message, reference=number):
            active[number % len(active)].send_data(label, octets)

    def ask(self, called, kind, own=None, **fields):
        """Sends a begin or continue; the answer comes by the future."""
        if own is None:
            self.next_id += 1
            own = self.next_id.to_bytes(4, "big")
        answer = asyncio.get_running_loop().create_future()
        self.waiting[own] = answer
        data = tcap.encode(kind, otid=own, **fields)
        self.write(called, data, int.from_bytes(own, "big"))
        return own, answer

    async def answer(self, called, kind, **fields):
        own, answer = self.ask(called, kind, **fields)
        peer, message = await asyncio.wait_for(answer, PATIENCE)
        return own, peer, message


async def order(port, name, **fields):
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(json.dumps({"do": name, **fields}).encode() + b"\n")
    said = json.loads(await reader.readline())
    writer.close()
    assert "wrong" not in said, said
    return said


def route(version, number=NUMBER):
    argument = {
        "msisdn": tcap.address_string(number),
        "sm-RP-PRI": True,
        "serviceCentreAddress": tcap.address_string(CENTRE),
    }
    if version == 3:
        argument["gprsSupportIndicator"] = 0
    portion = {"portion": tcap.request((tcap.GATEWAY, version))} if version > 1 else {}
    return {"components": [tcap.invoke(1, tcap.SEND_ROUTING, version, argument)], **portion}


def forward(version, id=1, more=False, tpdu=HELLO):
    argument = {
        "sm-RP-DA": ("imsi", tcap.imsi_octets(IMSI)),
        "sm-RP-OA": ("serviceCentreAddressOA", tcap.address_string(CENTRE)),
        "sm-RP-UI": bytes.fromhex(tpdu),
    }
    # Those after the first of a dialogue may have no addresses; every second one does without.
    if id % 2 == 0:
        argument |= {"sm-RP-DA": ("noSM-RP-DA", 0), "sm-RP-OA": ("noSM-RP-OA", 0)}
    if more:
        argument["moreMessagesToSend"] = 0
    operation = tcap.MT_FORWARD if version == 3 else tcap.FORWARD
    return [tcap.invoke(id, operation, version, argument)]


def expect(found, wanted):
    assert found == wanted, f"{found} and not {wanted}"


async def routing(centre, orders):
    to = Address(SSN_HLR, NUMBER)
    for version in (1, 2, 3):
        _, peer, message = await centre.answer(to, "begin", **route(version))
        expect((message.kind, peer.digits, message.components[0].kind), ("end", HLR, "result"))
        found = tcap.value_of(tcap.RESULTS, tcap.SEND_ROUTING, version, message.components[0].raw)
        expect(tcap.imsi_digits(found["imsi"]), IMSI)
        location = found["locationInfoWithLMSI"]
        node = location["networkNode-Number"] if version == 3 else location["locationInfo"][1]
        expect(tcap.digits(node), MSC)
        if version == 3:
            expect(tcap.digits(location["additional-Number"][1]), SGSN)
        expect(message.portion, "dialogueResponse" if version > 1 else None)
    _, _, message = await centre.answer(Address(SSN_HLR, "4916999999"), "begin", **route(3, "4916999999"))
    expect((message.components[0].kind, message.components[0].code), ("error", tcap.UNKNOWN_SUBSCRIBER))
    await order(orders, "node", digits=HLR, segment=30)
    _, _, message = await centre.answer(to, "begin", **route(3))
    expect(message.components[0].kind, "result")
    await order(orders, "node", digits=HLR, segment=0)
    centre.ask(Address(SSN_HLR, "9990001"), "begin", **route(3))
    expect(await asyncio.wait_for(centre.returned.get(), PATIENCE), (1, f"{CENTRE}/8"))


async def forwarding(centre, orders):
    portion = {"portion": tcap.request((tcap.MT_RELAY, 3))}
    own, peer, message = await centre.answer(
        Address(SSN_MSC, MSC), "begin", **portion, components=forward(3, more=True)
    )
    expect((message.kind, message.portion), ("continue", "dialogueResponse"))
    for id, more, kind in ((2, True, "continue"), (3, True, "continue"), (4, False, "end")):
        more_of_it = {"own": own, "dtid": message.otid, "components": forward(3, id, more)}
        _, peer, message = await centre.answer(peer, "continue", **more_of_it)
        expect((message.kind, message.components[0].kind, message.portion), (kind, "result", None))
    # An empty begin, and a TPDU that needs two segments.
    own, peer, message = await centre.answer(Address(SSN_SGSN, SGSN), "begin", **portion)
    expect((message.kind, message.components), ("continue", []))
    _, _, message = await centre.answer(peer, "continue", own=own, dtid=message.otid, components=forward(3, tpdu=LONG))
    expect((message.kind, message.components[0].kind), ("end", "result"))
    found = await order(orders, "messages", imsi=IMSI)
    expect([one["text"] for one in found["messages"][:4]], ["Hello"] * 4)
    expect({one["dialogue"] for one in found["messages"][:4]} & {found["messages"][4]["dialogue"]}, set())
    outcomes = {"absent:6": 6, "memory_full": 32, "busy": 31, "unidentified": 5, "system_failure": 34, "illegal": 9}
    for version in (3, 2, 1):
        portion = {"portion": tcap.request((tcap.MT_RELAY, version))} if version > 1 else {}
        for outcome, wanted in outcomes.items():
            await order(orders, "subscriber", msisdn=NUMBER, forward=[outcome, "ok"])
            _, _, message = await centre.answer(Address(SSN_MSC, MSC), "begin", **portion, components=forward(version))
            wanted = tcap.ABSENT_SUBSCRIBER if version < 3 and outcome == "absent:6" else wanted
            expect((message.components[0].kind, message.components[0].code), ("error", wanted))
        for outcome, wanted in (("reject", "reject"), ("report:0000", "result")):
            await order(orders, "subscriber", msisdn=NUMBER, forward=[outcome, "ok"])
            _, _, message = await centre.answer(Address(SSN_MSC, MSC), "begin", **portion, components=forward(version))
            expect(message.components[0].kind, wanted)


async def versions(centre, orders):
    to = Address(SSN_MSC, MSC)
    portion = {"portion": tcap.request((tcap.MT_RELAY, 3))}
    await order(orders, "node", digits=MSC, version=2)
    _, _, message = await centre.answer(to, "begin", **portion, components=forward(3))
    expect((message.kind, message.context, message.diagnostic[1]), ("abort", (tcap.MT_RELAY, 2), 2))
    _, _, message = await centre.answer(to, "begin", portion=tcap.request((tcap.MT_RELAY, 2)), components=forward(2))
    expect((message.kind, message.components[0].kind, message.context), ("end", "result", (tcap.MT_RELAY, 2)))
    await order(orders, "node", digits=MSC, version=1)
    _, _, message = await centre.answer(to, "begin", **portion, components=forward(3))
    expect((message.kind, message.p_abort), ("abort", tcap.INCORRECT_PORTION))
    await order(orders, "node", digits=MSC, old="context")
    _, _, message = await centre.answer(to, "begin", **portion, components=forward(3))
    expect((message.kind, message.context), ("abort", (tcap.MO_RELAY, 1)))
    _, _, message = await centre.answer(to, "begin", components=forward(1))
    expect((message.kind, message.components[0].kind, message.portion), ("end", "result", None))
    await order(orders, "node", digits=MSC, version=3, old="p_abort")
    for mood, wanted in (("refuse", "dialogueResponse"), ("abort", "dialogueAbort"), ("p_abort", None)):
        await order(orders, "node", digits=MSC, mood=mood)
        _, _, message = await centre.answer(to, "begin", **portion, components=forward(3))
        expect((message.kind, message.portion), ("abort", wanted))
    await order(orders, "node", digits=MSC, mood="refuse")
    _, _, message = await centre.answer(to, "begin", components=forward(1))
    expect((message.kind, message.portion, message.p_abort), ("abort", None, None))
    await order(orders, "node", digits=MSC, mood="udts:3")
    centre.ask(to, "begin", **portion, components=forward(3))
    expect((await asyncio.wait_for(centre.returned.get(), PATIENCE))[0], 3)
    await order(orders, "node", digits=MSC, mood=None)


async def from_the_network(centre, orders):
    for version in (3, 2, 1):
        sent = asyncio.create_task(order(orders, "submit", msisdn=NUMBER, tpdu=SUBMIT, version=version))
        peer, message = await asyncio.wait_for(centre.begun.get(), PATIENCE)
        expect(message.context, (tcap.MO_RELAY, version) if version > 1 else None)
        argument = tcap.value_of(tcap.ARGUMENTS, tcap.FORWARD, version, message.components[0].raw)
        expect((argument["sm-RP-UI"].hex(), tcap.digits(argument["sm-RP-OA"][1])), (SUBMIT, NUMBER))
        portion = {"portion": tcap.response(message.context)} if message.context else {}
        answer = tcap.encode("end", dtid=message.otid, **portion, components=[tcap.result(1)])
        centre.write(peer, answer, 1)
        expect(await sent, {"dialogue": "end", "result": None})
    report = {
        "msisdn": tcap.address_string(NUMBER),
        "serviceCentreAddress": tcap.address_string(CENTRE),
        "sm-DeliveryOutcome": "absentSubscriber",
    }
    _, _, message = await centre.answer(
        Address(SSN_HLR, NUMBER),
        "begin",
        portion=tcap.request((tcap.GATEWAY, 3)),
        components=[tcap.invoke(1, tcap.REPORT_STATUS, 3, report)],
    )
    expect(message.components[0].kind, "result")
    # Now the HLR tells that somebody waits, and alerts when the subscriber is there.
    _, _, message = await centre.answer(Address(SSN_HLR, NUMBER), "begin", **route(3))
    expect([(one.kind, one.code) for one in message.components], [("result", 45), ("invoke", tcap.INFORM)])
    released = asyncio.create_task(order(orders, "release", msisdn=NUMBER))
    peer, message = await asyncio.wait_for(centre.begun.get(), PATIENCE)
    expect((message.context, message.components[0].code), ((tcap.ALERT, 2), tcap.ALERT_CENTRE))
    answer = tcap.encode("end", dtid=message.otid, portion=tcap.response((tcap.ALERT, 2)), components=[tcap.result(1)])
    centre.write(peer, answer, 1)
    expect(await released, {"alerts": [{"dialogue": "end", "result": None}]})
    await order(orders, "alert", msisdn=NUMBER, version=1)
    _, message = await asyncio.wait_for(centre.begun.get(), PATIENCE)
    expect((message.context, message.components[0].code), (None, tcap.ALERT_WITHOUT_RESULT))


async def usual(orders):
    await order(orders, "subscriber", msisdn=NUMBER, imsi=IMSI, msc=MSC, sgsn=SGSN)


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--stp", action="append", required=True)
    parser.add_argument("--point-code", required=True)
    parser.add_argument("--network", required=True)
    parser.add_argument("--context", action="append", type=int, default=[])
    parser.add_argument("--mode")
    parser.add_argument("--orders", type=int, required=True)
    parser.add_argument("--trace")
    parser.add_argument("--local")
    chosen = parser.parse_args()
    own = point_code(chosen.point_code)
    centre, trace = Centre(own, point_code(chosen.network)), Trace(chosen.trace)
    are_active = asyncio.Event()

    def on_change(_):
        if all(link.state == "active" for link in centre.links):
            are_active.set()

    for address in chosen.stp:
        centre.links.append(
            Link(address, [own], chosen.context, chosen.mode, trace, centre.on_data, on_change, chosen.local)
        )
    running = [asyncio.create_task(link.run()) for link in centre.links]
    await asyncio.wait_for(are_active.wait(), PATIENCE)
    await usual(chosen.orders)
    for part in (routing, forwarding, versions, from_the_network):
        await part(centre, chosen.orders)
        print(json.dumps({"event": part.__name__}), flush=True)
    complaints = (await order(chosen.orders, "complaints"))["complaints"]
    expect((complaints, centre.reassembly.complaints), ([], []))
    for task in running:
        task.cancel()
    print(json.dumps({"event": "done", "counts": await order(chosen.orders, "counts")}))


if __name__ == "__main__":
    asyncio.run(main())

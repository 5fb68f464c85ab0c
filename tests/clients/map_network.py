"""A mobile network that speaks MAP over SIGTRAN and that nobody here wrote: HLRs, MSCs and SGSNs made with pycrate, behind one
or more signalling gateways (osmo-stp) that they reach by M3UA over TCP.

    map_network.py --stp 127.0.0.1:2905 --point-code 0.2.1 --centre 4917000000 --centre-point-code 0.1.1 \\
        --hlr 491600001 --msc 491600002 --sgsn 491600003 --trace m3ua.txt

It prints {"event": "ready", "port": N} and then each change of a link. To that port (of 127.0.0.1) come orders, a JSON object
a line; each gets an answer, a JSON object a line, so `nc 127.0.0.1 N` is enough to play with it:

    {"do": "subscriber", "msisdn": "4916000001", "imsi": "001010000000001", "msc": "491600002", "sgsn": "491600003"}
        and, if wanted: "sri", "forward", "forward_msc", "forward_sgsn" with lists of outcomes, the last of which stays;
        for a number that is known only what is named changes
    {"do": "subscribers", "first": 4916000000, "imsi": 1010000000000, "count": 20, "msc": "491600002"}
    {"do": "node", "kind": "msc", "digits": "491600002", "version": 2, "mood": "silent", "delay": 0.1, "segment": 40}
    {"do": "release", "msisdn": "4916000001"}            there again: waiting service centres are told
    {"do": "alert", "msisdn": "4916000001", "version": 1}
    {"do": "submit", "msisdn": "4916000001", "tpdu": "…", "version": 3, "empty_begin": false}     what a handset sends
    {"do": "counts"} {"do": "messages", "imsi": "…"} {"do": "dialogues"} {"do": "reports"} {"do": "returned"}
    {"do": "complaints"} {"do": "links"} {"do": "clear"} {"do": "raw", "sccp": ["…"]}
    {"do": "flood", "kind": "dialogues", "count": 1000}   from elsewhere: what is never ended; or "segments", "questions"
    {"do": "link", "stp": 0, "up": false}                 leaves a gateway, or comes back to it

Outcomes: ok, report:HEX, slow:SECONDS, silent, abort, p_abort, reject, absent[:DIAGNOSTIC], memory_full, unknown, unidentified,
busy, system_failure and the others of map_core.py. Moods of nodes: silent, refuse, abort, p_abort, udts:CAUSE.
"""

import argparse
import asyncio
import dataclasses
import json

from map_core import SSN, Core, Node, Subscriber
from map_m3ua import Link, Trace, point_code
from map_stranger import flood

LONGEST_ORDER = 1 << 22


def say(event, **fields):
    print(json.dumps({"event": event, **fields}), flush=True)


def fields_of(kind, order):
    names = {field.name for field in dataclasses.fields(kind)} - {"waiting", "flags"}
    wrong = set(order) - names
    if wrong:
        raise ValueError(f"{', '.join(sorted(wrong))}: not of a {kind.__name__}")
    return order


class Orders:
    def __init__(self, core, centre_point_code):
        self.core, self.centre_point_code = core, centre_point_code

    async def serve(self, reader, writer):
        try:
            while line := await reader.readline():
                try:
                    order = json.loads(line)
                    answer = await self.obey(order.pop("do"), order)
                    said = {"ok": True} if answer is None else answer
                except Exception as error:  # told to the test, which fails
                    said = {"wrong": repr(error)}
                writer.write(json.dumps(said).encode() + b"\n")
                await writer.drain()
        except ConnectionError:
            pass
        writer.close()

    async def obey(self, name, order):
        action = getattr(self, f"do_{name}")
        made = action(**order)
        return await made if asyncio.iscoroutine(made) else made

    def do_node(self, digits, **order):
        known = self.core.nodes.get(digits)
        if known is None:
            self.core.nodes[digits] = Node(digits=digits, **fields_of(Node, order))
            return
        for name, value in fields_of(Node, order).items():
            setattr(known, name, value)

    def do_subscriber(self, msisdn, **order):
        known = self.core.subscribers.get(msisdn)
        if known is None:
            self.core.subscribers[msisdn] = Subscriber(msisdn=msisdn, **fields_of(Subscriber, order))
            self.core.imsis[self.core.subscribers[msisdn].imsi] = self.core.subscribers[msisdn]
            return
        for name, value in fields_of(Subscriber, order).items():
            setattr(known, name, value)

    def do_subscribers(self, first, imsi, count, **order):
        for at in range(count):
            self.do_subscriber(str(first + at), imsi=f"{imsi + at:015}", **json.loads(json.dumps(order)))

    async def do_release(self, msisdn, version=2):
        subscriber = self.core.subscribers[msisdn]
        subscriber.sri, subscriber.forward = ["ok"], ["ok"]
        subscriber.forward_msc = subscriber.forward_sgsn = None
        told = list(subscriber.waiting)
        subscriber.waiting.clear()
        subscriber.flags.clear()
        answers = [await self.do_alert(msisdn, version) for centre in told if centre == self.core.service_centre]
        return {"alerts": answers}

    async def do_alert(self, msisdn, version=2, hlr=None, point_code=None):
        node = self.core.nodes[hlr] if hlr else next(one for one in self.core.nodes.values() if one.kind == "hlr")
        return await self.core.alert(node, self.point_code_of(point_code), msisdn, version)

    async def do_submit(self, msisdn, tpdu, node=None, point_code=None, **more):
        subscriber = self.core.subscribers.get(msisdn)
        node = self.core.nodes[node or subscriber.msc or subscriber.sgsn]
        imsi = subscriber and subscriber.imsi
        return await self.core.submit(node, self.point_code_of(point_code), msisdn, imsi, tpdu, **more)

    def do_raw(self, sccp, point_code=None):
        for one in sccp if isinstance(sccp, list) else [sccp]:
            self.core.write_raw(self.point_code_of(point_code), bytes.fromhex(one))

    async def do_flood(self, kind, count, digits="999000001", point_code="0.3.1"):
        where = self.point_code_of(point_code), digits, self.core.service_centre, self.centre_point_code
        return await flood(self.core.links[0], kind, count, *where)

    def point_code_of(self, text):
        return self.centre_point_code if text is None else point_code(text)

    def do_counts(self):
        core, counts = self.core, dict(self.core.counts)
        return counts | {
            "messages": len(core.messages),
            "dialogues": len(core.history),
            "open": sum(1 for one in core.dialogues.values() if not one.is_ours),
            "complaints": len(core.complaints),
        }

    def do_messages(self, imsi=None):
        return {"messages": [one for one in self.core.messages if imsi in (None, one["imsi"])]}

    def do_dialogues(self):
        return {"dialogues": [one.view() for one in self.core.history]}

    def do_reports(self):
        return {"reports": self.core.reports}

    def do_returned(self):
        return {"returned": self.core.returned}

    def do_complaints(self):
        return {"complaints": self.core.complaints}

    def do_links(self):
        return {"links": [one.view() for one in self.core.links]}

    def do_link(self, stp, up):
        link = self.core.links[stp]
        if up:
            link.is_wanted = True
        else:
            link.cut()

    def do_waiting(self, msisdn):
        subscriber = self.core.subscribers[msisdn]
        return {"waiting": sorted(subscriber.waiting), "flags": sorted(subscriber.flags)}

    def do_clear(self):
        self.core.clear()


async def main():
    parser = argparse.ArgumentParser()
    parser.add_argument("--stp", action="append", required=True, help="HOST:PORT of a signalling gateway")
    parser.add_argument("--point-code", action="append", required=True, help="where the network is")
    parser.add_argument(
        "--context", action="append", type=int, default=[], help="routing contexts; else it registers keys"
    )
    parser.add_argument("--local", help="own address, by which a gateway knows it")
    parser.add_argument("--mode", choices=("override", "loadshare", "broadcast"))
    parser.add_argument("--network-indicator", type=int, default=0)
    parser.add_argument("--centre", required=True, help="number of the service centre")
    parser.add_argument("--centre-point-code", required=True)
    parser.add_argument("--port", type=int, default=0, help="where orders come to")
    parser.add_argument("--trace", help="a file for all M3UA messages")
    for kind in SSN:
        parser.add_argument(f"--{kind}", action="append", default=[], help="number of such a node")
    chosen = parser.parse_args()
    own = [point_code(one) for one in chosen.point_code]
    core = Core(own[0], chosen.centre, chosen.network_indicator)
    for kind in SSN:
        for digits in getattr(chosen, kind):
            core.nodes[digits] = Node(kind, digits)
    trace = Trace(chosen.trace)

    def on_change(link):
        say("link", stp=link.address, state=link.state)

    for address in chosen.stp:
        link = Link(address, own, chosen.context, chosen.mode, trace, core.on_data, on_change, chosen.local)
        core.links.append(link)
    orders = Orders(core, point_code(chosen.centre_point_code))
    server = await asyncio.start_server(orders.serve, "127.0.0.1", chosen.port, limit=LONGEST_ORDER)
    say("ready", port=server.sockets[0].getsockname()[1])
    # A defect in here ends the program, and so the test.
    await asyncio.gather(*(link.run() for link in core.links))


if __name__ == "__main__":
    asyncio.run(main())

"""Connectionless SCCP (Q.713, Q.714) with the codec of pycrate: addresses, UDT, XUDT and LUDT with segments, UDTS."""

from dataclasses import dataclass, field

from pycrate_mobile import SCCP

UDT, UDTS, XUDT, XUDTS, LUDT, LUDTS = 9, 10, 17, 18, 19, 20
RETURN_ON_ERROR = 8
# Global title with translation type, numbering plan, encoding scheme and nature of address; E.164, international.
GT_0100, E164, INTERNATIONAL = 4, 1, 4
HOPS = 15
# What the data of a UDT may be so that its length fits an octet, and what a whole message may be within 272 octets
# of an MTP3 message with its label (Q.704 §2.2), which links of 64 kbit/s carry.
LONGEST_DATA = 254
LONGEST_MESSAGE = 268


@dataclass(frozen=True)
class Address:
    ssn: int
    digits: str = ""
    pc: int = None
    by_ssn: bool = False
    translation_type: int = 0

    def element(self, kind):
        address = kind()
        value = address["Value"]
        value["AddrInd"].set_val(
            {
                "RoutingInd": int(self.by_ssn),
                "GTInd": GT_0100 if self.digits else 0,
                "SSNInd": 1,
                "PCInd": int(self.pc is not None),
            }
        )
        if self.pc is not None:
            value["PC"].set_val(self.pc)
        value["SSN"].set_val(self.ssn)
        if self.digits:
            title = value["GT"].get_alt()
            title["TranslationType"].set_val(self.translation_type)
            title["NumberingPlan"].set_val(E164)
            title["NAI"].set_val(INTERNATIONAL)
            title.set_addr_bcd(self.digits)
        return address

    @classmethod
    def of(cls, element):
        value = element["Value"]
        marks = value["AddrInd"]
        digits, translation_type = "", 0
        if marks["GTInd"].get_val() == GT_0100:
            title = element.get_gt()
            digits, translation_type = title.get_addr(), title["TranslationType"].get_val()
        return cls(
            ssn=value["SSN"].get_val() if marks["SSNInd"].get_val() else 0,
            digits=digits,
            pc=value["PC"].get_val() if marks["PCInd"].get_val() else None,
            by_ssn=bool(marks["RoutingInd"].get_val()),
            translation_type=translation_type,
        )

    def __str__(self):
        return f"{self.digits or self.pc}/{self.ssn}"


@dataclass
class Unitdata:
    """A message of this layer; `first`, `remaining` and `reference` are those of its segmentation, if any."""

    kind: int
    called: Address
    calling: Address
    data: bytes
    in_order: bool = False
    return_on_error: bool = False
    cause: int = None
    first: bool = None
    remaining: int = 0
    reference: int = 0
    octets: int = 0


def decode(octets):
    """The message, or None if pycrate cannot read it."""
    message, error = SCCP.parse_SCCP(octets, w_scmg=False)
    if error or message["Type"].get_val() not in (UDT, UDTS, XUDT, XUDTS, LUDT, LUDTS) or not message.is_valid():
        return None
    kind = message["Type"].get_val()
    data = message["LongData" if kind in (LUDT, LUDTS) else "Data"]["Value"].get_val()
    found = Unitdata(
        kind,
        Address.of(message["CalledPartyAddr"]),
        Address.of(message["CallingPartyAddr"]),
        data,
        octets=len(octets),
    )
    if kind in (UDT, XUDT, LUDT):
        found.in_order = message["ProtocolClass"]["Class"].get_val() == 1
        found.return_on_error = message["ProtocolClass"]["Handling"].get_val() == RETURN_ON_ERROR
    else:
        found.cause = message["RetCause"].get_val()
    if kind not in (UDT, UDTS):
        options = message["Opt"]
        if not options.get_trans():
            for option in options:
                if not option.get_trans() and option._name == "Segmentation":
                    part = option["Segmentation"]
                    found.first = bool(part["F"].get_val())
                    found.remaining = part["RemainingSeg"].get_val()
                    found.reference = part["SegmentLocalRef"].get_val()
    return found


def _message(kind, unitdata, data, segment=None):
    classes = {
        UDT: SCCP.SCCPUnitData,
        XUDT: SCCP.SCCPExtUnitData,
        UDTS: SCCP.SCCPUnitDataService,
        XUDTS: SCCP.SCCPExtUnitDataService,
    }
    message = classes[kind]()
    if kind in (UDT, XUDT):
        handling = RETURN_ON_ERROR if unitdata.return_on_error else 0
        message["ProtocolClass"].set_val({"Handling": handling, "Class": int(unitdata.in_order)})
    else:
        message["RetCause"].set_val(unitdata.cause)
    if kind in (XUDT, XUDTS):
        message["HopCounter"].set_val(HOPS)
        options = message["Opt"]
        if segment is None:
            options.set_trans(True)
            message["Pointers"]["Ptr3"].set_val(0)
        else:
            options["Segmentation"].set_trans(False)
            options["Segmentation"]["Segmentation"].set_val(segment)
            options["EOO"].set_trans(False)
    for name, kind_of, address in (
        ("CalledPartyAddr", SCCP.CalledPartyAddr, unitdata.called),
        ("CallingPartyAddr", SCCP.CallingPartyAddr, unitdata.calling),
    ):
        message.replace(message[name], address.element(kind_of))
    message["Data"]["Value"].set_val(data)
    return message.to_bytes()


def encode(unitdata, segment_size=0, reference=0):
    """The messages for it: one UDT or UDTS, or XUDTs where the data is longer than fits or than `segment_size`."""
    if unitdata.cause is not None:
        return [_message(UDTS, unitdata, unitdata.data)]
    if not segment_size:
        whole = _message(UDT, unitdata, unitdata.data) if len(unitdata.data) <= LONGEST_DATA else b""
        if whole and len(whole) <= LONGEST_MESSAGE:
            return [whole]
    # The option takes 7 octets and a pointer, the hop counter one.
    size = segment_size or LONGEST_DATA - 80
    pieces = [unitdata.data[at : at + size] for at in range(0, len(unitdata.data), size)]
    if len(pieces) == 1:
        return [_message(XUDT, unitdata, unitdata.data)]
    assert len(pieces) <= 16, len(unitdata.data)
    # Segments are in sequence; what was wished before is in C (Q.713 §3.17).
    wished, unitdata.in_order = unitdata.in_order, True
    return [
        _message(
            XUDT,
            unitdata,
            piece,
            {"F": int(at == 0), "C": int(wished), "RemainingSeg": len(pieces) - 1 - at, "SegmentLocalRef": reference},
        )
        for at, piece in enumerate(pieces)
    ]


@dataclass
class Reassembly:
    """Puts segments together, by their sender and reference."""

    parts: dict = field(default_factory=dict)
    complaints: list = field(default_factory=list)

    def add(self, unitdata):
        """The whole message, as soon as it is there."""
        if unitdata.first is None:
            return unitdata
        key = (unitdata.calling, unitdata.reference)
        if unitdata.first:
            if key in self.parts:
                self.complaints.append(f"segments {key} begin again")
            self.parts[key] = (unitdata.remaining, [unitdata.data])
        elif key not in self.parts or self.parts[key][0] != unitdata.remaining + 1:
            self.complaints.append(f"segment {unitdata.remaining} of {key} comes out of order")
            self.parts.pop(key, None)
            return None
        else:
            self.parts[key] = (unitdata.remaining, self.parts[key][1] + [unitdata.data])
        if unitdata.remaining:
            return None
        unitdata.data = b"".join(self.parts.pop(key)[1])
        return unitdata

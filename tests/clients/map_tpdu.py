"""What pycrate reads in a TPDU for a handset (TS 23.040)."""

from pycrate_mobile import TS23040_SMS as SMS

DELIVER, STATUS_REPORT = 0, 2
CONCATENATED_8, CONCATENATED_16 = 0, 8


def _parts(header):
    """Reference, total and number of a part."""
    for element in header["UDH"]:
        value = element["V"].get_val()
        if element["T"].get_val() in (CONCATENATED_8, CONCATENATED_16):
            return dict(zip(("reference", "total", "number"), value, strict=True))
    return None


def read(octets):
    """An SMS-DELIVER or SMS-STATUS-REPORT as a table; raises whatever pycrate does with what it cannot read."""
    kind = octets[0] & 3
    if kind not in (DELIVER, STATUS_REPORT):
        raise ValueError(f"message type {kind}")
    message = SMS.SMS_DELIVER() if kind == DELIVER else SMS.SMS_STATUS_REPORT()
    message.from_bytes(octets)
    again = message.to_bytes()
    if again != octets:
        raise ValueError(f"{octets.hex()} is {again.hex()} when it is written again")
    more = message["TP_MMS"].get_val() == 0
    if kind == STATUS_REPORT:
        about = message["TP_RA"]["Num"].decode()
        return {"kind": "status_report", "to": about, "status": octets[-1], "mr": octets[1], "mms": more}
    data, header = message["TP_UD"]["UD"].decode(), message["TP_UD"]["UDH"]
    return {
        "kind": "deliver",
        "from": message["TP_OA"]["Num"].decode(),
        "text": data if isinstance(data, str) else data.hex(),
        "data_coding": message["TP_DCS"].to_bytes()[0],
        "protocol_id": message["TP_PID"].to_bytes()[0],
        "part": None if header.get_trans() else _parts(header),
        "mms": more,
    }

"""Two GSM codecs of others, as judges of ours: `gsm0338` for the default alphabet, `gsmcodecs` (made
from 3GPP TS 23.038 V18.0.0) for the national tables.

One line of JSON: by language the character of every code in both tables, and what gsm0338 writes
for every character that it can write, and reads in every septet and pair of escape and septet.
"""

import json

import gsm0338
import gsmcodecs

LANGUAGES = range(14)
ESCAPE = 0x1B


def national(language, kind):
    decode = gsmcodecs.GSMCHARMAPS.get(language, {}).get(kind, {}).get("decode", {})
    return {code: chr(character) for code, character in decode.items()}


def attempt(do, what):
    try:
        return do(what)[0]
    except UnicodeError:
        return None


def default_alphabet():
    codec = gsm0338.Codec()
    written = {}
    for character in map(chr, range(0x10000)):
        octets = attempt(codec.encode, character)
        if octets is not None:
            written[character] = octets.hex()
    read = {}
    for code in range(0x80):
        for octets in (bytes([code]), bytes([ESCAPE, code])):
            read[octets.hex()] = attempt(codec.decode, octets)
    return {"written": written, "read": read}


print(
    json.dumps(
        {
            "national": [
                {"locking": national(n, "locking"), "single": national(n, "singleShift")}
                for n in LANGUAGES
            ],
            "default": default_alphabet(),
        }
    )
)

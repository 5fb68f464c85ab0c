"""An ESME made with smpplib whose handler does not expect an empty text: it ends with the exception, and is started again.

Usage: smpplib_poison.py HOST PORT SYSTEM_ID PASSWORD
Prints the text of each message that it gets, in quotes. Runs until it is killed.
"""

import sys
import time

from smpplib import client, consts, exceptions


def run(host, port, system_id, password):
    def received(pdu):
        message = (pdu.short_message or b"").decode("ascii")
        print(repr(message), flush=True)
        keyword = message.split()[0]
        return consts.SMPP_ESME_ROK if keyword else consts.SMPP_ESME_RX_R_APPN

    esme = client.Client(host, int(port), allow_unknown_opt_params=True)
    esme.set_message_received_handler(received)
    try:
        esme.connect()
        esme.bind_transceiver(system_id=system_id, password=password)
        esme.listen()
    finally:
        esme.disconnect()


while True:
    try:
        run(*sys.argv[1:])
    except IndexError:
        pass
    except (exceptions.ConnectionError, OSError):
        time.sleep(0.2)

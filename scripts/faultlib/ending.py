"""The end of a run by a signal: it takes everything with it, and further signals do not keep it from that."""

import signal
import sys

ENDING = (signal.SIGTERM, signal.SIGHUP)


def clean_up():
    """From here on the first signal ends the run by SystemExit, and what is in `finally` is done."""
    for number in ENDING:
        signal.signal(number, end)


def end(*_):
    ignore()
    sys.exit(1)


def ignore():
    """For the time in which a run cleans up, whatever has ended it."""
    for number in ENDING:
        signal.signal(number, signal.SIG_IGN)

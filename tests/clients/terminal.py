"""Runs a command in a terminal of a given size and tells what it wrote, as one line of JSON.

terminal.py COLUMNS LINES INPUT SECONDS COMMAND…; INPUT is typed at once; after SECONDS the command is interrupted.
"""

import fcntl
import json
import os
import pty
import select
import signal
import struct
import sys
import termios
import time

columns, lines, typed, seconds, command = int(sys.argv[1]), int(sys.argv[2]), sys.argv[3], float(sys.argv[4]), sys.argv[5:]
ready, go = os.pipe()
child, terminal = pty.fork()
if child == 0:
    os.environ.setdefault("TERM", "xterm")
    # Its parent gives the terminal its size first.
    os.read(ready, 1)
    os.execvp(command[0], command)
fcntl.ioctl(terminal, termios.TIOCSWINSZ, struct.pack("HHHH", lines, columns, 0, 0))
os.write(terminal, typed.encode())
os.write(go, b".")
written, until, interrupted = b"", time.monotonic() + seconds, False
while True:
    if not interrupted and time.monotonic() > until:
        interrupted = True
        os.kill(child, signal.SIGINT)
    if not select.select([terminal], [], [], 0.1)[0]:
        continue
    try:
        octets = os.read(terminal, 65536)
    except OSError:
        break
    if not octets:
        break
    written += octets
_, status = os.waitpid(child, 0)
text = written.decode("utf-8", "replace").replace("\r\n", "\n")
print(json.dumps({"code": os.waitstatus_to_exitcode(status), "text": text}))

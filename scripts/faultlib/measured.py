"""What a process of a benchmark has cost, and the wait until it is there."""

import os
import socket
import time
from pathlib import Path

TICKS = os.sysconf("SC_CLK_TCK")


def wait_for(port):
    for _ in range(600):
        try:
            socket.create_connection(("127.0.0.1", port), 1).close()
            return
        except OSError:
            time.sleep(0.05)
    raise SystemExit(f"nothing listens on port {port}")


def cpu_seconds_of(pid):
    fields = Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()
    return (int(fields[11]) + int(fields[12])) / TICKS


def cpu_seconds(process):
    return cpu_seconds_of(process.pid)


def octets_written(process):
    """Octets that the process has had written to disks."""
    for line in Path(f"/proc/{process.pid}/io").read_text().splitlines():
        if line.startswith("write_bytes:"):
            return int(line.split()[1])
    raise SystemExit("no write_bytes")


def memory(process, name):
    """VmRSS or VmHWM in MB."""
    for line in Path(f"/proc/{process.pid}/status").read_text().splitlines():
        if line.startswith(name + ":"):
            return int(line.split()[1]) / 1024
    raise SystemExit(f"no {name}")

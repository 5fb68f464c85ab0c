"""Two networks between two namespaces: the SMSC is in the first one, the STP and what is behind it in `net`."""

import os
import subprocess
from pathlib import Path

NAMESPACE = "net"
# Of each path: our device and the other one, our address and the other one.
PATHS = (("a1", "b1", "10.1.0.1", "10.1.0.2"), ("a2", "b2", "10.2.0.1", "10.2.0.2"))
OURS = [path[2] for path in PATHS]
THEIRS = [path[3] for path in PATHS]
ENVIRONMENT = dict(os.environ, PATH="/usr/sbin:/usr/bin:/sbin:/bin")


def run(*words):
    done = subprocess.run(words, env=ENVIRONMENT, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True)
    if done.returncode:
        raise RuntimeError(f"{' '.join(words)}: {done.stdout}")
    return done.stdout


def there(*words):
    """A command in the other namespace."""
    return ["ip", "netns", "exec", NAMESPACE, *words]


def lay():
    Path("/run").mkdir(exist_ok=True)
    run("ip", "netns", "add", NAMESPACE)
    run("ip", "-n", NAMESPACE, "link", "set", "lo", "up")
    for ours, theirs, our_address, their_address in PATHS:
        run("ip", "link", "add", ours, "type", "veth", "peer", "name", theirs)
        run("ip", "link", "set", theirs, "netns", NAMESPACE)
        run("ip", "addr", "add", f"{our_address}/24", "dev", ours)
        run("ip", "-n", NAMESPACE, "addr", "add", f"{their_address}/24", "dev", theirs)
        run("ip", "link", "set", ours, "up")
        run("ip", "-n", NAMESPACE, "link", "set", theirs, "up")


def lose(percent):
    """So much of all packets, in both directions; nothing any more with 0."""
    for ours, theirs, *_ in PATHS:
        for where, device in ((["tc"], ours), (["tc", "-n", NAMESPACE], theirs)):
            if percent:
                run(*where, "qdisc", "add", "dev", device, "root", "netem", "loss", f"{percent}%")
            else:
                run(*where, "qdisc", "del", "dev", device, "root")


def cut(number, is_cut):
    """A path by its number, at the other end, so that nothing tells us."""
    run("ip", "-n", NAMESPACE, "link", "set", PATHS[number][1], "down" if is_cut else "up")


def associations():
    """Those of the first namespace: a list of the remote addresses of each."""
    lines = Path("/proc/net/sctp/assocs").read_text().splitlines()[1:]
    found = []
    for line in lines:
        words = line.split()
        behind = words[words.index("<->") + 1 :] if "<->" in words else []
        addresses = [word.lstrip("*") for word in behind]
        found.append([word for word in addresses if word.count(".") == 3])
    return found

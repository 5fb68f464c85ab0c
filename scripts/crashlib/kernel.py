"""What the virtual machine asks its kernel for: modules, mounts, device-mapper, an fsync that does nothing."""

import ctypes
import errno
import fcntl
import os
import socket
import struct
import time
from pathlib import Path

libc = ctypes.CDLL(None, use_errno=True)

# dm-ioctl.h
DM_HEAD = struct.Struct("=3I3IiIIIQ128s129s7x")
DM_CREATE, DM_REMOVE, DM_RESUME, DM_LOAD, DM_MESSAGE = 3, 4, 6, 9, 14
# How long something may stay in use by a process that has ended (seconds).
BUSY = 10


def check(result):
    if result < 0:
        error = ctypes.get_errno()
        raise OSError(error, os.strerror(error))
    return result


def mount(source, folder, kind, options=""):
    Path(folder).mkdir(parents=True, exist_ok=True)
    check(libc.mount(source.encode(), str(folder).encode(), kind.encode(), 0, options.encode()))


def unmount(folder):
    patiently(lambda: check(libc.umount2(str(folder).encode(), 0)))


def patiently(act):
    """Again while something is still in use."""
    limit = time.monotonic() + BUSY
    while True:
        try:
            return act()
        except OSError as error:
            if error.errno != errno.EBUSY or time.monotonic() > limit:
                raise
        time.sleep(0.01)


def load_modules(folder):
    """Each needs those before it only."""
    finit_module = 313
    for path in sorted(Path(folder).glob("*.ko")):
        with open(path, "rb") as module:
            check(libc.syscall(finit_module, module.fileno(), b"", 0))


def loopback_up():
    SIOCSIFFLAGS, IFF_UP = 0x8914, 1
    with socket.socket() as any_socket:
        fcntl.ioctl(any_socket, SIOCSIFFLAGS, struct.pack("16sh14x", b"lo", IFF_UP))


def power_off():
    os.sync()
    libc.reboot(0x4321FEDC)


def without_fsync():
    """From now on fsync and its relatives do nothing in this process and say that they did. For preexec_fn."""
    load, jump_if_equal, give = 0x20, 0x15, 0x06
    allow, succeed = 0x7FFF0000, 0x00050000
    calls = [26, 74, 75, 162, 277, 306]  # msync, fsync, fdatasync, sync, sync_file_range, syncfs
    program = [(load, 0, 0, 0)]
    program += [(jump_if_equal, len(calls) - number, 0, call) for number, call in enumerate(calls)]
    program += [(give, 0, 0, allow), (give, 0, 0, succeed)]
    code = ctypes.create_string_buffer(b"".join(struct.pack("=HBBI", *line) for line in program))
    filter = struct.pack("HxxxxxxP", len(program), ctypes.addressof(code))
    no_new_privileges, set_seccomp, by_filter = 38, 22, 2
    check(libc.prctl(no_new_privileges, 1, 0, 0, 0))
    check(libc.prctl(set_seccomp, by_filter, ctypes.c_char_p(filter), 0, 0))


class Device:
    """A device of device-mapper with one target, as long as `with` lasts."""

    def __init__(self, name, sectors, target, parameters):
        self.name = name
        self.control = open("/dev/mapper/control", "rb")
        number = DM_HEAD.unpack_from(self.ask(DM_CREATE))[10]
        self.path = f"/dev/dm-{number & 0xFF | number >> 12 & 0xFFF00}"
        text = parameters.encode() + b"\0"
        text += bytes(-len(text) % 8)
        line = struct.pack("=QQiI16s", 0, sectors, 0, 40 + len(text), target.encode())
        try:
            self.ask(DM_LOAD, line + text, 1)
            self.ask(DM_RESUME)
        except OSError:
            self.remove()
            raise

    def ask(self, command, data=b"", targets=0):
        size = DM_HEAD.size + len(data)
        head = DM_HEAD.pack(4, 0, 0, size, DM_HEAD.size, targets, 0, 0, 0, 0, 0, self.name.encode(), b"")
        buffer = bytearray(head + data)
        fcntl.ioctl(self.control, 3 << 30 | DM_HEAD.size << 16 | 0xFD << 8 | command, buffer)
        return buffer

    def message(self, text):
        self.ask(DM_MESSAGE, struct.pack("=Q", 0) + text.encode() + b"\0")

    def remove(self):
        patiently(lambda: self.ask(DM_REMOVE))
        self.control.close()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.remove()

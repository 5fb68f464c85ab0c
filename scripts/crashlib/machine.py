"""The virtual machine of scripts/crash-points: Debian packages, the image it starts from, and qemu."""

import json
import lzma
import os
import platform
import shutil
import subprocess
from pathlib import Path

# The machine's own release, so that what is built here runs in there.
QEMU, KERNEL, INSIDE = "qemu-system-x86", "linux-image-cloud-amd64", ("python3", "e2fsprogs")
MODULES = ("virtio_pci", "virtio_blk", "dm-mod", "dm-log-writes", "dm-snapshot")
MEMORY_MIB, PROCESSORS = 1536, 2
# Of the disks in the order of crashlib/guest.py: recorded, log, replayed, notes. They take what is written of them.
DISKS_MIB = {"disk": 256, "log": 16 * 1024, "cut": 256, "notes": 64}
# Neither python3 nor e2fsprogs needs them.
LEFT_OUT = ("usr/share/", "var/", "usr/lib/x86_64-linux-gnu/perl", "usr/lib/x86_64-linux-gnu/gconv/")
FOLDERS = ("bin", "sbin", "lib", "lib64")


class Packages:
    """Debian packages, unpacked in the folder of the tests' tools and not installed: of the script of this name, with what it
    runs in the machine and which modules of the kernel it loads there."""

    def __init__(self, root, name="crash-points", inside=INSIDE, modules=MODULES):
        given = os.environ.get("SMSC_TEST_TOOLS")
        tools = Path(given or root / "target/test-tools").resolve()
        self.wanted, self.loaded = inside, modules
        self.folder, self.apt = tools / name, tools / f"apt-{name}"
        self.qemu, self.kernel, self.inside = (self.folder / name for name in ("qemu", "kernel", "inside"))
        wanted = f"{QEMU} {KERNEL} {inside} {platform.freedesktop_os_release()['VERSION_ID']}"
        mark = tools / f"{name}.installed"
        if not mark.exists() or mark.read_text() != wanted:
            self.install()
            mark.write_text(wanted)

    def install(self):
        print(f"unpacking {QEMU}, a kernel and {', '.join(self.wanted)} into {self.folder}", flush=True)
        shutil.rmtree(self.folder, ignore_errors=True)
        shutil.rmtree(self.apt, ignore_errors=True)
        for folder in ("lists/partial", "cache/archives/partial"):
            (self.apt / folder).mkdir(parents=True)
        nothing = self.apt / "status"
        nothing.write_text("")
        self.run_apt("update")
        self.unpack(self.qemu, self.needed([QEMU]))
        kernels = self.needed([KERNEL], f"Dir::State::status={nothing}")
        self.unpack(self.kernel, [name for name in kernels if name.startswith("linux-image-") and name != KERNEL])
        self.unpack(self.inside, self.needed(self.wanted, f"Dir::State::status={nothing}"))
        shutil.rmtree(self.apt)

    def run_apt(self, *arguments, cwd=None):
        user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
        settings = [
            f"Dir::State::lists={self.apt}/lists", f"Dir::Cache={self.apt}/cache", "Debug::NoLocking=1",
            f"APT::Sandbox::User={user}", "Acquire::Retries=3", "Acquire::Languages=none",
        ]
        options = [text for setting in settings for text in ("-o", setting)]
        done = subprocess.run(
            ["apt-get", "-q=2", *options, *arguments], cwd=cwd, stdout=subprocess.PIPE, text=True, check=True
        )
        return done.stdout

    def needed(self, names, *settings):
        """These packages and what they need and the machine lacks; all that they need with an empty status."""
        options = [text for setting in settings for text in ("-o", setting)]
        plan = self.run_apt(*options, "install", "--simulate", "--no-install-recommends", *names)
        return [line.split()[1] for line in plan.splitlines() if line.startswith("Inst ")]

    def unpack(self, folder, names):
        folder.mkdir(parents=True)
        if names:
            self.run_apt("download", *names, cwd=self.apt)
        for package in self.apt.glob("*.deb"):
            subprocess.run(["dpkg-deb", "-x", package, folder], check=True)
            package.unlink()

    def command(self):
        """qemu and its environment: its packages, or the machine's own."""
        program = self.qemu / "usr/bin/qemu-system-x86_64"
        if not program.exists():
            return [shutil.which(program.name)], dict(os.environ)
        libraries = [*self.qemu.glob("usr/lib/*/"), *self.qemu.glob("lib/*/")]
        firmware = [text for name in ("qemu", "seabios") for text in ("-L", str(self.qemu / "usr/share" / name))]
        return [str(program), *firmware], dict(os.environ, LD_LIBRARY_PATH=":".join(map(str, libraries)))

    def modules(self):
        """The modules that are loaded and what they need, in the order in which they load."""
        files = {path.name.split(".")[0].replace("-", "_"): path for path in self.kernel.rglob("*.ko*")}
        found = {}

        def add(name):
            path = files.get(name.replace("-", "_"))
            if path is None or path in found:
                return
            octets = path.read_bytes()
            if path.suffix == ".xz":
                octets = lzma.decompress(octets)
            needs = octets.split(b"\0depends=")[-1].split(b"\0")[0].decode()
            for one in filter(None, needs.split(",")):
                add(one)
            found[path] = octets

        for name in self.loaded:
            add(name)
        return list(found.values())


class Image:
    """The files that the machine starts with, as an archive of cpio (Documentation/driver-api/early-userspace of Linux)."""

    def __init__(self, path):
        self.file = open(path, "wb")
        self.names = set()

    def add(self, name, mode, octets=b""):
        if name in self.names:
            return
        self.names.add(name)
        numbers = (len(self.names), mode, 0, 0, 1, 0, len(octets), 0, 0, 0, 0, len(name) + 1, 0)
        head = b"070701" + b"".join(b"%08X" % number for number in numbers) + name.encode() + b"\0"
        self.file.write(head + bytes(-len(head) % 4) + octets + bytes(-len(octets) % 4))

    def folder(self, name):
        for parent in reversed(Path(name).parents[:-1]):
            self.add(str(parent), 0o040755)
        self.add(name, 0o040755)

    def put(self, name, octets, mode=0o100755):
        self.folder(str(Path(name).parent))
        self.add(name, mode, octets)

    def tree(self, root, left_out=()):
        """A folder's files, with those of /bin, /lib and so on below /usr."""
        for path in sorted(root.rglob("*")):
            name = str(path.relative_to(root))
            if name.startswith(left_out):
                continue
            if name.split("/")[0] in FOLDERS:
                name = f"usr/{name}"
            if path.is_symlink():
                if name not in (f"usr/{folder}" for folder in FOLDERS):
                    self.put(name, os.readlink(path).encode(), 0o120777)
            elif path.is_file():
                self.put(name, path.read_bytes(), 0o100000 | path.stat().st_mode & 0o777)

    def close(self):
        self.add("TRAILER!!!", 0)
        self.file.close()


def build(path, packages, scripts, binary, options, libraries=("crashlib", "faultlib")):
    """What the machine starts with; the first of the libraries has the `guest` that is its first process."""
    image = Image(path)
    for name in FOLDERS:
        image.put(name, f"usr/{name}".encode(), 0o120777)
    image.tree(packages.inside, LEFT_OUT)
    for number, octets in enumerate(packages.modules()):
        image.put(f"modules/{number:02}.ko", octets)
    for folder in libraries:
        for file in (scripts / folder).glob("*.py"):
            image.put(f"scripts/{folder}/{file.name}", file.read_bytes())
    image.put("usr/bin/smsc", binary.read_bytes())
    image.put("options.json", json.dumps(options).encode())
    image.put("init", (
        b"#!/usr/bin/python3 -B\nimport sys\nsys.path.insert(0, '/scripts')\n"
        b"from %s import guest\nguest.main()\n" % libraries[0].encode()
    ))
    image.close()


def disks(folder, again):
    """Those of crashlib/guest.py, in the folder; `again` keeps the log and the notes that are there."""
    options = []
    for name, size in DISKS_MIB.items():
        path = folder / f"{name}.img"
        if not (again and name in ("log", "notes")):
            path.write_bytes(b"")
            os.truncate(path, size << 20)
        options += ["-drive", f"file={path},format=raw,if=virtio,cache=unsafe,werror=report,rerror=report"]
    return options


def start(folder, packages, image, options=()):
    """The machine, whose second serial port is the process's output, with more options of qemu."""
    program, environment = packages.command()
    (kernel,) = packages.kernel.glob("boot/vmlinuz-*")
    return subprocess.Popen(
        [*program, "-machine", "pc", "-accel", "tcg,thread=multi", "-cpu", "max", "-smp", str(PROCESSORS),
         "-m", str(MEMORY_MIB), "-nodefaults", "-no-user-config", "-no-reboot", "-display", "none",
         "-serial", f"file:{folder}/console.log", "-serial", "stdio", *options,
         "-kernel", kernel, "-initrd", image, "-append", "console=ttyS0 quiet panic=-1"],
        env=environment, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, text=True,
    )

"""The programs that scripts run: built as packages and images are, unless the caller names a binary."""

import os
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
# With LTO, as what is shipped: `release` is for a quick first build.
PROFILE = "dist"
TARGET = Path(os.environ.get("CARGO_TARGET_DIR", ROOT / "target")) / PROFILE
# The sender and the operator of another implementation of SMPP.
FOREIGN_LOAD = TARGET / "examples/foreign_load"


def smsc(binary=None):
    """The SMSC: this binary, or one that is built now."""
    if binary is None:
        cargo_build("--bin", "smsc")
        binary = TARGET / "smsc"
    binary = Path(binary).resolve()
    if not binary.is_file():
        raise SystemExit(f"{binary} is not there")
    return binary


def cargo_build(*what):
    command = ["cargo", "build", "--profile", PROFILE, "--quiet", "--locked", *what]
    subprocess.run(command, cwd=ROOT, check=True)

"""What somebody may do who logs in by ssh to send and read messages, and nothing else. Only the standard library.

sshd runs it instead of a shell, with what the person asked for in SSH_ORIGINAL_COMMAND (docs/local.md, "Over ssh"):

    ssh sms@host send 447700900123 "see you at nine"
    ssh sms@host inbox

No word of it reaches a shell. The SMSC knows by the socket which user it is, so each has its own account, and sees and
cancels the messages of that account only.
"""

import os
import shlex
import sys

import client

# How many words may follow each command.
COMMANDS = {"send": (2, 2), "get": (1, 1), "cancel": (1, 1), "list": (0, 0), "inbox": (0, 1), "dump": (0, 1)}


def words_of(asked):
    """The command and its words."""
    try:
        words = shlex.split(asked)
    except ValueError as error:
        sys.exit(f"{error}: put a text into quotes")
    command = words[0] if words else ""
    least, most = COMMANDS.get(command, (0, -1))
    if not least <= len(words) - 1 <= most:
        sys.exit(__doc__.split("\n\n")[2] + "\n\n    commands: " + ", ".join(COMMANDS))
    return words


if __name__ == "__main__":
    try:
        client.main(*words_of(os.environ.get("SSH_ORIGINAL_COMMAND", "")))
    except ValueError:
        sys.exit("an id is a number")
    except (client.Refused, OSError) as error:
        sys.exit(str(error))

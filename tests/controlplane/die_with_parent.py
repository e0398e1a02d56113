"""Becomes the given program after asking Linux to kill it when its parent ends: a crashed test run leaves nothing behind.

Run as a script, isolated: ``python -I -S die_with_parent.py PARENT PROGRAM ARGUMENT...``.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys

PR_SET_PDEATHSIG = 1


def main() -> None:
    parent, *command = sys.argv[1:]
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGKILL)
    # The parent may have ended before that; then nobody would tell.
    if os.getppid() == int(parent):
        os.execv(command[0], command)  # noqa: S606 - the programs started are ours


if __name__ == "__main__":
    main()

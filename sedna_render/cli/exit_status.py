"""Exit statuses: one meaning each, for every command."""

from __future__ import annotations

from enum import IntEnum


class ExitStatus(IntEnum):
    """What a command's exit status says."""

    FINE = 0
    #: ``check`` found that the committed output is not what would be rendered.
    DRIFT = 1
    #: The input or the usage is wrong; nothing was written.
    INPUT = 2
    #: The file system refused.
    SYSTEM = 3
    #: A bug, with what to report.
    BUG = 70
    INTERRUPTED = 130


HELP = """\b
Exit status:
  0    fine
  1    check: the committed output is not what would be rendered
  2    the input or the usage is wrong; nothing was written
  3    the file system refused
  70   a bug in sedna-render
  130  interrupted"""

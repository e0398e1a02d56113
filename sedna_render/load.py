"""Reads the inputs: files, folders, globs and standard input become Sources. Reads only; parses nothing."""

from __future__ import annotations

import os
import stat
import sys
from typing import TYPE_CHECKING, BinaryIO

from sedna_render import walk
from sedna_render.findings import ERROR, Finding, Location
from sedna_render.yaml_reader import Source

if TYPE_CHECKING:
    from collections.abc import Collection, Sequence

#: A file over this many bytes is no file of manifests: a model or an archive given by mistake.
MAX_FILE_BYTES = 64 * 1024 * 1024

# Opening a pipe that nobody writes to must not hang, should one take a file's place after it was listed.
_OPEN_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC


def load(
    paths: Sequence[str], *, skip_folders: Collection[str] = (), stdin: BinaryIO | None = None
) -> tuple[list[Source], list[Finding]]:
    """The content of every file that the paths lead to, sorted by name, standard input (``-``) first.

    Never raises: a path that is missing, unreadable or too large is a finding, and the others are still read.
    ``skip_folders`` (the output folder) are passed over in walks. ``stdin`` defaults to the process's own.
    """
    found, findings = walk.find(paths, skip_folders)
    results = [_read_stdin(stdin)] if walk.STDIN in paths else []
    results += [read_file(name, real) for name, real in found]
    sources = [result for result in results if isinstance(result, Source)]
    return sources, findings + [result for result in results if isinstance(result, Finding)]


def read_file(name: str, path: str | None = None) -> Source | Finding:
    """One file, shown as ``name``, opened at ``path`` (default: the name)."""
    try:
        handle = os.open(path or name, _OPEN_FLAGS)
    except FileNotFoundError:
        return _finding(
            "no-such-file", name, "there is no such file", "check the spelling and the current folder"
        )
    except (OSError, ValueError) as error:
        return _unreadable(name, error)
    try:
        status = os.fstat(handle)
        if not stat.S_ISREG(status.st_mode):
            return _finding(
                "unreadable-file", name, "not a regular file", "give a file, or `-` for standard input"
            )
        if status.st_size > MAX_FILE_BYTES:
            return _too_large(name)
        content = _read_all(handle, status.st_size)
    except OSError as error:
        return _unreadable(name, error)
    finally:
        os.close(handle)
    return _too_large(name) if len(content) > MAX_FILE_BYTES else Source(name, content)


def _read_all(handle: int, size: int) -> bytes:
    """All that can be read; one byte more than the size is asked for, so a file at rest needs one call."""
    content = os.read(handle, size + 1)
    if len(content) == size:
        return content
    chunks, total = [content], len(content)
    while content and total <= MAX_FILE_BYTES:
        content = os.read(handle, 1 << 20)
        chunks.append(content)
        total += len(content)
    return b"".join(chunks)


def _read_stdin(stdin: BinaryIO | None) -> Source | Finding:
    try:
        stream = stdin or sys.stdin.buffer
        content = stream.read(MAX_FILE_BYTES + 1)
    except (OSError, ValueError, AttributeError):  # closed, or the process has none
        return _finding(
            "unreadable-file", walk.STDIN_NAME, "standard input cannot be read", "redirect a file into it"
        )
    return _too_large(walk.STDIN_NAME) if len(content) > MAX_FILE_BYTES else Source(walk.STDIN_NAME, content)


def _too_large(name: str) -> Finding:
    message = f"larger than {MAX_FILE_BYTES >> 20} MiB"
    return _finding("file-too-large", name, message, "give files of manifests only, or split this one")


def _unreadable(name: str, error: OSError | ValueError) -> Finding:
    reason = error.strerror if isinstance(error, OSError) else str(error)
    return _finding("unreadable-file", name, f"cannot be read: {reason}", "check its permissions")


def _finding(rule: str, name: str, message: str, remedy: str) -> Finding:
    return Finding(rule, ERROR, Location(walk.printable(name)), "", "", message, remedy)

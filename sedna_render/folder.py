"""Reads an output folder: what lies in it, and what its files hold. Changes nothing."""

from __future__ import annotations

import os
import stat

from sedna_render import walk

_READ_FLAGS = os.O_RDONLY | os.O_NONBLOCK | os.O_CLOEXEC


class WriteError(Exception):
    """The file system refused; the message says what, and what state that leaves."""


def listing(folder: str, name: str) -> dict[str, bool]:
    """The names in the folder, and whether each is a symbolic link; empty when there is no folder yet.

    ``name`` is shown in the WriteError that is raised when it cannot be listed.
    """
    try:
        with os.scandir(folder) as entries:
            return {entry.name: entry.is_symlink() for entry in entries}
    except FileNotFoundError:
        return {}
    except (OSError, ValueError) as error:
        raise WriteError(f"{walk.printable(name)}: cannot be read as a folder: {reason(error)}") from error


def is_plain(folder: str, name: str) -> bool:
    """Whether this is a regular file, and no link to one; also when it is not there any more."""
    try:
        return stat.S_ISREG(os.lstat(f"{folder}/{name}").st_mode)
    except FileNotFoundError:
        return True
    except OSError as error:
        raise _unreadable(f"{folder}/{name}", error) from error


def read(folder: str, name: str) -> bytes | None:
    """The content of a file; None when it is not a regular one, or not there. Raises WriteError when unreadable."""
    path = f"{folder}/{name}"
    try:
        handle = os.open(path, _READ_FLAGS)
    except (FileNotFoundError, NotADirectoryError):
        return None
    except (OSError, ValueError) as error:
        raise _unreadable(path, error) from error
    try:
        status = os.fstat(handle)
        return _read_all(handle, status.st_size) if stat.S_ISREG(status.st_mode) else None
    except OSError as error:
        raise _unreadable(path, error) from error
    finally:
        os.close(handle)


def _read_all(handle: int, size: int) -> bytes:
    content = os.read(handle, size + 1)
    while len(content) < size and (chunk := os.read(handle, size + 1 - len(content))):
        content += chunk
    return content


def _unreadable(path: str, error: OSError | ValueError) -> WriteError:
    return WriteError(f"{walk.printable(path)}: cannot be read: {reason(error)}")


def reason(error: OSError | ValueError) -> str:
    """The system's words for an error, without the path, which the message has already."""
    return (error.strerror or str(error)) if isinstance(error, OSError) else str(error)

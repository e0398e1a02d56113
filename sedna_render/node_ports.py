"""One NodePort number a service: asked for, recorded in the lock file, or chosen by hash.

Pure: numbers and the text of the lock file in, numbers and the text out. A service key is
``namespace/name``. Rules: an annotation before the lock file before a choice; a running
service's number is never moved silently; the order of the requests plays no part.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, Final, Literal, NamedTuple

from sedna_render import findings, names
from sedna_render.findings import Finding, Location

if TYPE_CHECKING:
    from collections.abc import Collection, Mapping

DEFAULT_RANGE = range(30000, 32768)
LOCK_FILE = "sedna-render.lock"

ANNOTATION: Final = "annotation"
RECORDED: Final = "recorded"
CHOSEN: Final = "chosen"

_RANGE = r"([0-9]{1,5})-([0-9]{1,5})"
_HIGHEST_PORT = 65535

_LOCK_HEADER = "# NodePort numbers given out by sedna-render: commit this file, so that every service keeps its number.\n"
_LOCK_LINE = r"(\S+)/(\S+)[ \t]+(\S+)"
_LOCK_PORT = r"[1-9][0-9]{0,4}"
_CONFLICT_MARKS = ("<<<<<<<", "|||||||", "=======", ">>>>>>>")


class Assigned(NamedTuple):
    """The number of one service, where it comes from, and whether it lies in the static band.

    Outside the band the API server gives numbers to Services that name none: it may already
    have given this one away.
    """

    number: int
    origin: Literal["annotation", "recorded", "chosen"]
    in_band: bool


class Problem(NamedTuple):
    """What is wrong with, or worth knowing about, the number of the service with this key."""

    key: str
    rule: str
    severity: str
    message: str
    remedy: str


class Allocation(NamedTuple):
    """The numbers of all services that can have one, and what the lock file must hold after it."""

    numbers: dict[str, Assigned]
    problems: list[Problem]
    lock: dict[str, int]


def parse_range(text: str) -> range | str:
    """The ports of a range written ``30000-32767`` (both ends count), or what is wrong with it."""
    found = re.fullmatch(_RANGE, text)
    if not found:
        return "is not written as two port numbers with a '-' between them, such as 30000-32767"
    first, last = int(found.group(1)), int(found.group(2))
    if not 1 <= first <= _HIGHEST_PORT or not 1 <= last <= _HIGHEST_PORT:
        return f"has a number that is no port (1 to {_HIGHEST_PORT})"
    if first > last:
        return f"begins above its end ({first} > {last})"
    return range(first, last + 1)


def band(port_range: range) -> range:
    """The ports at the bottom of the range that the API server gives out last: ours to fix.

    Source: Kubernetes' static band for NodePorts (KEP-3668), the formula of its code.
    """
    size = len(port_range)
    if size <= 16:  # noqa: PLR2004 - Kubernetes' own constants, which have no names there either
        return port_range[:0]
    return port_range[: min(max(16, size // 32), 128)]


def allocate(
    requests: Mapping[str, int | None],
    recorded: Mapping[str, int],
    freed: Collection[str] = (),
    port_range: range = DEFAULT_RANGE,
) -> Allocation:
    """A number for every service in requests, unique among them and among all recorded ones.

    requests: key to the number its annotation asks for, or None. recorded: the lock file, also
    of services that are not in this run. freed: recorded services that certainly need none any more.
    """
    static = band(port_range)
    gone = set(freed) - requests.keys()
    held = {key: number for key, number in recorded.items() if key not in gone}
    problems = _wrong_numbers(requests, held, port_range)
    problems += _clashes(requests, held)
    bad = {problem.key for problem in problems}
    fixed = _fixed(requests, held, bad, static)
    given_up = _given_up(requests, recorded, gone)
    problems += _reused(fixed, given_up)
    claimed = _claimed(requests, held)
    wanting = sorted(key for key in requests if key not in fixed and key not in bad)
    chosen, unserved = _choose(wanting, claimed.keys(), given_up.keys(), port_range, static)
    problems += [_exhausted(key, port_range) for key in unserved]
    numbers = dict(sorted((fixed | chosen).items()))
    others = {key: number for key, number in held.items() if key not in requests or key in bad}
    lock = dict(sorted((others | {key: found.number for key, found in numbers.items()}).items()))
    return Allocation(numbers, sorted(problems), lock)


def _claimed(requests: Mapping[str, int | None], held: Mapping[str, int]) -> dict[int, list[str]]:
    """Who claims which number: the annotation of a service, else its line in the lock file."""
    claims: dict[int, list[str]] = {}
    for key, asked in requests.items():
        number = held.get(key) if asked is None else asked
        if number is not None:
            claims.setdefault(number, []).append(key)
    for key, number in held.items():
        if key not in requests:
            claims.setdefault(number, []).append(key)
    return claims


def _wrong_numbers(
    requests: Mapping[str, int | None], held: Mapping[str, int], port_range: range
) -> list[Problem]:
    problems = []
    for key, asked in requests.items():
        number = held.get(key) if asked is None else asked
        if number is not None and number not in port_range:
            problems.append(_out_of_range(key, number, port_range, from_lock=asked is None))
    return problems


def _out_of_range(key: str, number: int, port_range: range, *, from_lock: bool) -> Problem:
    where = f"recorded in {LOCK_FILE}" if from_lock else "of its annotation"
    mend = (
        f"delete its line in {LOCK_FILE} to have another chosen" if from_lock else "choose one in the range"
    )
    return Problem(
        key,
        "nodeport-range",
        findings.ERROR,
        f"the NodePort {number} {where} is outside the range {_range_text(port_range)}",
        f"{mend}, or set nodePortRange to the range of the cluster (--service-node-port-range)",
    )


def _clashes(requests: Mapping[str, int | None], held: Mapping[str, int]) -> list[Problem]:
    problems = []
    for number, keys in _claimed(requests, held).items():
        if len(keys) > 1:
            keys.sort()
            problems += [_clash(key, number, keys, requests) for key in keys if key in requests]
    return problems


#: More names than these say no more to a reader.
_SHOWN = 5


def _clash(key: str, number: int, keys: list[str], requests: Mapping[str, int | None]) -> Problem:
    others = [other for other in keys[: _SHOWN + 1] if other != key][:_SHOWN]
    left = len(keys) - 1 - len(others)
    shown = ", ".join(_owner_text(other, requests) for other in others) + (
        f" and {left} more" if left else ""
    )
    absent = next((other for other in others if other not in requests), None)
    if requests[key] is None:
        remedy = (
            f"give {others[0]} another number, or delete the line of {key} in {LOCK_FILE} to move this one"
        )
    elif absent:
        remedy = f"choose another number; if {absent} is gone, delete its line in {LOCK_FILE}"
    else:
        remedy = "choose another number for one of them"
    message = f"the NodePort {number} is also that of {shown}"
    return Problem(key, "nodeport-clash", findings.ERROR, message, remedy)


def _owner_text(key: str, requests: Mapping[str, int | None]) -> str:
    if requests.get(key) is not None:
        return f"{key} (its annotation)"
    return f"{key} (recorded in {LOCK_FILE})"


def _fixed(
    requests: Mapping[str, int | None], held: Mapping[str, int], bad: Collection[str], static: range
) -> dict[str, Assigned]:
    fixed = {}
    for key, asked in requests.items():
        if key in bad:
            continue
        if asked is not None:
            fixed[key] = Assigned(asked, ANNOTATION, asked in static)
        elif key in held:
            fixed[key] = Assigned(held[key], RECORDED, held[key] in static)
    return fixed


def _given_up(
    requests: Mapping[str, int | None], recorded: Mapping[str, int], gone: Collection[str]
) -> dict[int, str]:
    """Numbers that a Service in the cluster may still hold, though this run takes them away from it."""
    given_up = {}
    for key, number in recorded.items():
        asked = requests.get(key)
        if key in gone or (asked is not None and asked != number):
            given_up[number] = key
    return given_up


def _reused(fixed: Mapping[str, Assigned], given_up: Mapping[int, str]) -> list[Problem]:
    problems = []
    for key, found in fixed.items():
        before = given_up.get(found.number)
        if before is not None and before != key:
            problems.append(
                Problem(
                    key,
                    "nodeport-clash",
                    findings.WARNING,
                    f"the NodePort {found.number} is given up by {before} in this same change",
                    f"apply the change of {before} first: the API server refuses the number while "
                    "the old Service holds it, and Flux then applies nothing at all",
                )
            )
    return problems


def _choose(
    wanting: list[str],
    claimed: Collection[int],
    given_up: Collection[int],
    port_range: range,
    static: range,
) -> tuple[dict[str, Assigned], list[str]]:
    """Numbers for the keys in their order: the band, then above it, then what this run gave up."""
    taken = set(claimed) | set(given_up)
    free_in_band = len(static) - sum(1 for number in static if number in taken)
    above = iter([number for number in port_range[len(static) :] if number not in taken])
    last_resort = iter([number for number in port_range if number in given_up and number not in claimed])
    chosen: dict[str, Assigned] = {}
    for position, key in enumerate(wanting):
        if free_in_band:
            number = _next_in_band(key, static, taken)
            taken.add(number)
            free_in_band -= 1
        else:
            number = next(above, 0) or next(last_resort, 0)
            if not number:
                return chosen, wanting[position:]
        chosen[key] = Assigned(number, CHOSEN, number in static)
    return chosen, []


def _next_in_band(key: str, static: range, taken: Collection[int]) -> int:
    start = names.stable_hash(key) % len(static)
    turned: list[int] = [*static[start:], *static[:start]]
    return next(number for number in turned if number not in taken)


def _exhausted(key: str, port_range: range) -> Problem:
    return Problem(
        key,
        "nodeport-range",
        findings.ERROR,
        f"no NodePort is free any more in the range {_range_text(port_range)}",
        f"widen nodePortRange, delete the lines of services that are gone from {LOCK_FILE}, "
        "or reach big models without NodePorts (expose: EdgeMesh)",
    )


def _range_text(port_range: range) -> str:
    return f"{port_range.start}-{port_range.stop - 1}"


def lock_text(numbers: Mapping[str, int]) -> str:
    """The text of the lock file: a line that says what it is, then one line a service, sorted."""
    return _LOCK_HEADER + "".join(f"{key} {number}\n" for key, number in sorted(numbers.items()))


def parse_lock(text: str, file_name: str) -> tuple[dict[str, int], list[Finding]]:
    """The numbers of a lock file by service key, and what is wrong with its lines.

    Line ends may be CRLF (git on Windows writes them so). Of two lines for one service the
    first counts; any finding here is an error, so nothing is rendered from a guess.
    """
    numbers: dict[str, int] = {}
    found: list[Finding] = []
    lines_of_keys: dict[str, int] = {}
    owners: dict[int, str] = {}
    for index, line in enumerate(text.removeprefix("\ufeff").split("\n"), start=1):
        entry = _lock_entry(line.removesuffix("\r"))
        if entry is None:
            continue
        key, number, problem = entry
        if not problem and key in numbers:
            problem = _Wrong(
                f"{key} has a line already, line {lines_of_keys[key]}", "delete one of the two lines"
            )
        elif not problem and number in owners:
            problem = _shared_number(number, key, owners[number], lines_of_keys[owners[number]])
        if problem:
            place = Location(file_name, index, 1)
            found.append(
                Finding("invalid-lock-file", findings.ERROR, place, "", "", problem.message, problem.remedy)
            )
            continue
        numbers[key] = number
        lines_of_keys[key] = index
        owners[number] = key
    return numbers, found


class _Wrong(NamedTuple):
    message: str
    remedy: str


def _shared_number(number: int, key: str, owner: str, line: int) -> _Wrong:
    # Two branches that each add a service may choose the same number; git merges both lines.
    return _Wrong(
        f"{number} is given to {key}, but it is already that of {owner} in line {line}",
        "delete the line of the service that is not in a cluster yet, and render again",
    )


def _lock_entry(line: str) -> tuple[str, int, _Wrong | None] | None:
    """Key and number of a line, or what is wrong with it; None for a comment or an empty line."""
    text = line.strip(" \t")
    if not text or text.startswith("#"):
        return None
    if text.startswith(_CONFLICT_MARKS):
        return (
            "",
            0,
            _Wrong(
                "is a mark of a git merge conflict",
                "keep the lines of both sides, delete the marks, and render again",
            ),
        )
    parts = re.fullmatch(_LOCK_LINE, text)
    if not parts:
        return "", 0, _Wrong("is not of the form 'namespace/name port'", _MEND_LINE)
    namespace, name, port = parts.groups()
    if problem := names.dns_1123_label(namespace):
        return "", 0, _Wrong(f"the namespace {problem}", _MEND_LINE)
    if problem := names.dns_1035_label(name):
        return "", 0, _Wrong(f"the service's name {problem}", _MEND_LINE)
    if not re.fullmatch(_LOCK_PORT, port) or int(port) > _HIGHEST_PORT:
        return "", 0, _Wrong(f"the port is not a number from 1 to {_HIGHEST_PORT}", _MEND_LINE)
    return f"{namespace}/{name}", int(port), None


_MEND_LINE = "restore the line from git, or delete it: the service then gets a number anew, maybe another"

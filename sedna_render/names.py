"""Names that Kubernetes accepts, and names derived from others: shortened, hashed, converted.

Pure. A hash or an alphabet changed here renames volumes, moves NodePorts and restarts pods
everywhere: the tests pin every one of them with vectors.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable, Collection
    from typing import Protocol

    class _Digest(Protocol):
        def digest(self) -> bytes: ...
        def hexdigest(self) -> str: ...


#: The longest DNS label, label value, and so the longest name that this program derives.
LABEL_LENGTH = 63
SUBDOMAIN_LENGTH = 253

#: The letters of Kubernetes' random suffixes (no vowels, so no words, and no 0 1 3).
_WORKER_ALPHABET = "bcdfghjklmnpqrstvwxz2456789"
_WORKER_DIGITS = 5
_HASH_DIGITS = 8

_LABEL_1035 = re.compile(r"[a-z](?:[a-z0-9-]{0,61}[a-z0-9])?")
_LABEL_1123 = re.compile(r"[a-z0-9](?:[a-z0-9-]{0,61}[a-z0-9])?")
# Text, compiled by `re` when first used: many runs never need these, and compiling is start-up time.
_SUBDOMAIN = r"[a-z0-9](?:[a-z0-9-]*[a-z0-9])?(?:\.[a-z0-9](?:[a-z0-9-]*[a-z0-9])?)*"
_LABEL_VALUE = r"(?:[A-Za-z0-9](?:[A-Za-z0-9_.-]{0,61}[A-Za-z0-9])?)?"
_NOT_IN_LABEL = r"[^a-z0-9-]"
_NOT_IN_SUBDOMAIN = r"[^a-z0-9.-]"
_NOT_IN_VALUE = r"[^A-Za-z0-9_.-]"


class Derived(NamedTuple):
    """A derived name, and whether it had to be shortened to fit into 63 characters."""

    name: str
    shortened: bool


def dns_1035_label(text: str) -> str | None:
    """What keeps text from being a DNS-1035 label (a Service's name), or None."""
    if _LABEL_1035.fullmatch(text):
        return None
    if _LABEL_1123.fullmatch(text):
        return f"begins with {text[0]!r}, but must begin with a letter"
    return _label_problem(text, _NOT_IN_LABEL, "a-z, 0-9 and '-'", "a letter", LABEL_LENGTH)


def dns_1123_label(text: str) -> str | None:
    """What keeps text from being a DNS-1123 label (a namespace, a container, a volume), or None."""
    if _LABEL_1123.fullmatch(text):
        return None
    return _label_problem(text, _NOT_IN_LABEL, "a-z, 0-9 and '-'", "a letter or a digit", LABEL_LENGTH)


def dns_1123_subdomain(text: str) -> str | None:
    """What keeps text from being a DNS-1123 subdomain (a Secret, a node, a claim), or None."""
    if len(text) <= SUBDOMAIN_LENGTH and re.fullmatch(_SUBDOMAIN, text):
        return None
    allowed, ends = "a-z, 0-9, '-' and '.'", "a letter or a digit"
    problem = _label_problem(text, _NOT_IN_SUBDOMAIN, allowed, ends, SUBDOMAIN_LENGTH)
    return problem or f"has a part between two dots that does not begin and end with {ends}"


def label_value(text: str) -> str | None:
    """What keeps text from being the value of a label (empty is fine), or None."""
    if re.fullmatch(_LABEL_VALUE, text):
        return None
    allowed = "letters, digits, '-', '_' and '.'"
    return _label_problem(text, _NOT_IN_VALUE, allowed, "a letter or a digit", LABEL_LENGTH)


def label_key(text: str) -> str | None:
    """What keeps text from being the key of a label (``prefix/name``), or None."""
    prefix, slash, name = text.rpartition("/")
    if slash and (problem := dns_1123_subdomain(prefix)):
        return f"the part before the '/' {problem}"
    if not name:
        return "has no name after the '/'" if slash else "is empty"
    return label_value(name)


def annotation_key(text: str) -> str | None:
    """What keeps text from being the key of an annotation, or None: as a label's, with upper case in its prefix too."""
    return label_key(text.lower())


def _label_problem(text: str, forbidden: str, allowed: str, ends: str, longest: int) -> str | None:
    if not text:
        return "is empty"
    if found := re.search(forbidden, text):
        return f"has the character {found.group()!a}, but only {allowed} are allowed"
    if len(text) > longest:
        return f"has {len(text)} characters, but at most {longest} are allowed"
    if not text[0].isalnum():
        return f"begins with {text[0]!r}, but must begin with {ends}"
    if not text[-1].isalnum():
        return f"ends in {text[-1]!r}, but must end in a letter or a digit"
    return None


def derived(stem: str, suffix: str = "") -> Derived:
    """``stem + suffix``, or ``<head>-<8 hex><suffix>`` where that is over 63 characters.

    The hash is of the whole derived name, so that two long names stay two names. The suffix is
    kept whole, as people and the reconciler read it; it must leave room for a head (54 - its length).
    """
    whole = stem + suffix
    if len(whole) <= LABEL_LENGTH:
        return Derived(whole, shortened=False)
    room = LABEL_LENGTH - len(suffix) - _HASH_DIGITS - 1
    if room < 1:
        msg = f"the suffix {suffix!r} leaves no room for a name"
        raise ValueError(msg)
    head = stem[:room].rstrip("-.")
    return Derived(f"{head}-{short_hash(whole)}{suffix}", shortened=True)


def worker_name(namespace: str, name: str, worker_type: str) -> str:
    """WORKER_NAME of one worker: Sedna's form, with a hash where Sedna takes a random number.

    >>> worker_name("default", "helmet-detection", "edge")
    'edgeworker-fpbjm'
    """
    number = stable_hash(f"{namespace}/{name}/{worker_type}")
    digits = ""
    for _ in range(_WORKER_DIGITS):
        number, digit = divmod(number, len(_WORKER_ALPHABET))
        digits += _WORKER_ALPHABET[digit]
    return f"{worker_type}worker-{digits}"


def volume_name(path: str, taken: Collection[str] = ()) -> str:
    """The name of the volume that mounts path: Sedna's, or one with a hash where that is unusable.

    Sedna's conversion gives one name to several paths (``/a-b/``, ``/a_b/``) and for some no valid
    one; taken holds the names that other volumes of the pod have.
    """
    name = converted(path)
    if dns_1123_label(name) is None and name not in taken:
        return name
    head = name.strip("-")[: LABEL_LENGTH - _HASH_DIGITS - 1].rstrip("-") or "model"
    candidate = f"{head}-{short_hash(path)}"
    tries = 0
    while candidate in taken:
        tries += 1
        candidate = f"{head}-{short_hash(f'{path}#{tries}')}"
    return candidate


_OTHER_BYTES_DROPPED = re.compile(r"\A[^a-z0-9-]+|(?<=-)[^a-z0-9-]+")
_OTHER_BYTES = re.compile(r"[^a-z0-9-]+")


def converted(path: str) -> str:
    """Sedna's own conversion of a path into the name of a volume; it may be empty or invalid."""
    # Go lower-cases rune by rune, where Python makes two characters of this one.
    text = path.replace("\u0130", "i").lower()
    text = _OTHER_BYTES.sub("-", _OTHER_BYTES_DROPPED.sub("", text))[:LABEL_LENGTH]
    return f"{text[:-1]}z" if text.endswith("-") else text


def stable_hash(text: str) -> int:
    """SHA-256 of the text in UTF-8, as a big-endian integer: the same on every machine, for ever."""
    return int.from_bytes(_sha256(text).digest(), "big")


def short_hash(text: str) -> str:
    """The first 8 hexadecimal digits of the text's SHA-256."""
    return _sha256(text).hexdigest()[:_HASH_DIGITS]


def _sha256(text: str) -> _Digest:
    # surrogatepass: text that no file can hold must still not end in a traceback.
    return _constructor()(text.encode("utf-8", "surrogatepass"))


def _constructor() -> Callable[[bytes], _Digest]:
    """The interpreter's own SHA-256: hashlib loads OpenSSL first, 5 ms of a start-up of 12."""
    global _loaded  # noqa: PLW0603 - an import that is put off until the first hash
    if _loaded is None:
        _loaded = _load_constructor()
    return _loaded


_loaded: Callable[[bytes], _Digest] | None = None


def _load_constructor() -> Callable[[bytes], _Digest]:
    for module in ("_sha2", "_sha256"):  # Python 3.12 and later, Python 3.11
        try:
            constructor: Callable[[bytes], _Digest] = __import__(module).sha256
        except (ImportError, AttributeError):
            continue
        return constructor
    import hashlib  # noqa: PLC0415 - 5 ms, for an interpreter built without its own

    return hashlib.sha256

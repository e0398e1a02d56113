"""URLs and paths read as Go's net/url and path packages read them, since Sedna is written in Go.

Pure. What Go refuses crashed Sedna's controller, so it must be refused here with a clear word;
the behaviour is that of Go 1.26, pinned by vectors that Go itself made. Messages never quote
what may be a password.
"""

from __future__ import annotations

import re
from typing import NamedTuple, NoReturn


class GoURL(NamedTuple):
    """A parsed URL. path and fragment are decoded; bytes that are no UTF-8 are surrogate escapes."""

    scheme: str
    opaque: str
    userinfo: bool
    host: str
    path: str
    #: The path as it was written (Go keeps it only where it differs from its own encoding).
    raw_path: str
    raw_query: str
    fragment: str


class GoURLError(NamedTuple):
    """Why Go would refuse the text: a predicate, to be read after "the URL"."""

    message: str


class _RefusedError(Exception):
    """Carries the message from the depth of the parser to parse(); never leaves the module."""


#: An HTTP request of its own kind, which Go takes for a path.
_ASTERISK = GoURL("", "", False, "", "*", "*", "", "")  # noqa: FBT003 - the parts of a tuple

_SCHEME = re.compile(r"([A-Za-z][A-Za-z0-9+.-]*):")

# Text, compiled by `re` when first used: most runs never need these, and compiling is start-up time.
_CONTROL = r"[\x00-\x1f\x7f]"
_PORT = r"(?::[0-9]*)?"
_ESCAPE = r"%([0-9A-Fa-f]{2})"
_ESCAPES = r"(?:%[0-9A-Fa-f]{2})+"
_BAD_ESCAPE = r"%(?![0-9A-Fa-f]{2})"
_NOT_IN_HOST = r"[\x00- #/?@\\^`{|}\x7f]"
#: In a host only bytes outside ASCII, and the percent sign of an IPv6 zone, may be escaped.
_BAD_HOST_ESCAPE = r"%(?!25)[0-7][0-9A-Fa-f]"
_NOT_IN_USERINFO = r"[^A-Za-z0-9\-._:~!$&'()*+,;=%@]"


def parse(text: str) -> GoURL | GoURLError:
    """The parts of a URL (or URL reference) as Go's url.Parse divides it, or why it refuses."""
    try:
        return _parse(text)
    except _RefusedError as refused:
        return GoURLError(str(refused))


def clean(path: str) -> str:
    """The shortest path that means the same, as Go's path.Clean: no ``.``, no ``//``, no inner ``..``."""
    rooted = path.startswith("/")
    kept: list[str] = []
    for part in path.split("/"):
        if part in ("", "."):
            continue
        if part != "..":
            kept.append(part)
        elif kept and kept[-1] != "..":
            kept.pop()
        elif not rooted:
            kept.append(part)
    return "/" + "/".join(kept) if rooted else "/".join(kept) or "."


def join(*parts: str) -> str:
    """The parts joined by slashes and cleaned, as Go's path.Join: empty parts do not count."""
    present = [part for part in parts if part]
    return clean("/".join(present)) if present else ""


def unescaped(text: str) -> str:
    """The text with its percent-escapes decoded, as parse() decodes a path; broken ones stay."""
    return re.sub(_ESCAPES, _decode_escapes, text)


def _parse(text: str) -> GoURL:
    before, _, fragment = text.partition("#")
    if not before.isprintable() and (found := re.search(_CONTROL, before)):
        _refuse(f"has the control character {found.group()!a}")
    url = _ASTERISK if before == "*" else _parse_before_fragment(before)
    return url._replace(fragment=_decoded(fragment)) if fragment else url


def _parse_before_fragment(text: str) -> GoURL:
    scheme, rest = _split_scheme(text)
    rest, _, query = rest.partition("?")
    if not rest.startswith("/"):
        if scheme:
            return GoURL(scheme, rest, False, "", "", "", query, "")  # noqa: FBT003 - as above
        if ":" in rest.partition("/")[0]:
            _refuse("has a colon before the first '/', where only a scheme such as s3: may stand")
    userinfo, host = False, ""
    if rest.startswith("//") and (scheme or not rest.startswith("///")):
        authority, slash, after = rest[2:].partition("/")
        rest = slash + after
        userinfo, host = _parse_authority(scheme, authority)
    return GoURL(scheme, "", userinfo, host, _decoded(rest), rest, query, "")


def _split_scheme(text: str) -> tuple[str, str]:
    if found := _SCHEME.match(text):
        return found.group(1).lower(), text[found.end() :]
    if text.startswith(":"):
        _refuse("begins with ':', with no scheme before it")
    return "", text


def _parse_authority(scheme: str, authority: str) -> tuple[bool, str]:
    userinfo, at, host = authority.rpartition("@")
    host = _parse_host(scheme, host)
    if not at:
        return False, host
    if re.search(_NOT_IN_USERINFO, userinfo):
        _refuse("has a character in its user name or password that must be percent-encoded")
    if re.search(_BAD_ESCAPE, userinfo):
        _refuse("has a '%' in its user name or password that is not followed by two hexadecimal digits")
    return True, host


def _parse_host(scheme: str, host: str) -> str:
    bracket = host.rfind("[")
    if bracket > 0:
        _refuse("has a '[' inside its host name")
    if bracket == 0:
        return _parse_bracketed(host)
    first, last = host.find(":"), host.rfind(":")
    # Go allows several host:port, as some databases have them, but not for the web.
    colon = first if scheme in ("http", "https") else last
    if colon >= 0:
        _check_port(host[colon:])
    return _decoded_host(host)


def _parse_bracketed(host: str) -> str:
    closing = host.rfind("]")
    if closing < 0:
        _refuse("has a '[' in its host that no ']' closes")
    port = host[closing + 1 :]
    _check_port(port)
    address, zone_mark, zone = host[1:closing].partition("%25")
    address = _decoded_host(address)
    if zone_mark:
        address += "%" + _decoded_zone(zone)
    if not _is_ipv6(address):
        _refuse("has brackets around something that is not an IPv6 address")
    return f"[{address}]{port}"


def _is_ipv6(text: str) -> bool:
    import ipaddress  # noqa: PLC0415 - 10 ms, for the few URLs that have brackets

    address, percent, zone = text.partition("%")
    if percent and not zone:
        return False
    try:
        ipaddress.IPv6Address(address)
    except ValueError:
        return False
    return True


def _check_port(text: str) -> None:
    # The text is not shown: a password with an unescaped '/' or '?' makes its end look like a port.
    if not re.fullmatch(_PORT, text):
        _refuse("has something other than a number after the ':' that follows the host")


def _decoded_host(host: str) -> str:
    if found := re.search(_NOT_IN_HOST, host):
        _refuse(f"has the character {found.group()!r} in its host name")
    if found := re.search(_BAD_HOST_ESCAPE, host):
        _refuse(f"has the percent-escape {found.group()!r} in its host name")
    return _decoded(host)


def _decoded_zone(zone: str) -> str:
    if found := re.search(_NOT_IN_HOST, zone):
        _refuse(f"has the character {found.group()!r} in its IPv6 zone")
    for pair in re.findall(_ESCAPE, zone):
        character = chr(int(pair, 16))
        if character not in "% " and (character > "\x7f" or re.search(_NOT_IN_HOST, character)):
            _refuse("has a percent-escape in its IPv6 zone that stands for a character no zone may have")
    return _decoded(zone)


def _decoded(text: str) -> str:
    if "%" not in text:
        return text
    if found := re.search(_BAD_ESCAPE, text):
        bad = text[found.start() : found.start() + 3]
        _refuse(f"has {bad!r}, but after a '%' two hexadecimal digits must follow")
    return unescaped(text)


def _decode_escapes(found: re.Match[str]) -> str:
    return bytes.fromhex(found.group().replace("%", "")).decode("utf-8", "surrogateescape")


def _refuse(message: str) -> NoReturn:
    raise _RefusedError(message)

"""What is wrong with an address that others are to call, with a port in a text, with the URL of a server. Pure.

Messages about URLs never quote them: there may be a password inside.
"""

from __future__ import annotations

import re
from typing import TYPE_CHECKING, NamedTuple

from sedna_render import go_url, names
from sedna_render.findings import ERROR, WARNING

if TYPE_CHECKING:
    from ipaddress import IPv4Address, IPv6Address

# Text, compiled by `re` when first used: most runs need neither.
_PORT = r"[1-9][0-9]{0,4}"
_PORT_AT_END = r":([0-9]*)\Z"
PORTS = range(1, 65536)


class EndpointProblem(NamedTuple):
    """What is wrong with the URL of a server."""

    rule: str
    severity: str
    message: str
    remedy: str


def address_problem(address: str, *, loopback: bool = False) -> str | None:
    """What is wrong with an IP address or host name without a port; None when nothing is.

    loopback: whether the caller itself may be meant, as with a tunnel that ends on it.
    """
    parsed = _ip(address)
    if parsed is not None:
        unreachable = _never_a_peer(parsed, loopback=loopback)
        return f'"{address}" is {unreachable}: no big model is reached there' if unreachable else None
    if address.startswith("[") and address.endswith("]") and _ip(address[1:-1]):
        return f'"{address}" has brackets, which are put where they belong'
    if "://" in address:
        return f'"{address}" is a URL: only the host is wanted, without {address.partition("://")[0]}://'
    if ":" in address:
        return f'"{address}" holds a port, or is no IPv6 address'
    if not _is_host_name(address):
        return f'"{address}" is neither an IP address nor a host name'
    if address.lower() == "localhost" and not loopback:
        return f'"{address}" is the machine that calls it: no big model is reached there'
    return None


def _never_a_peer(address: IPv4Address | IPv6Address, *, loopback: bool) -> str:
    if address.is_unspecified:
        return "every address of a machine"
    if address.is_loopback and not loopback:
        return "the machine that calls it"
    if address.is_multicast:
        return "a multicast address"
    if ":" in str(address) and address.is_link_local:
        return "a link-local address"
    return "the broadcast address" if str(address) == "255.255.255.255" else ""


def _is_host_name(text: str) -> bool:
    # Lower-casing makes ASCII of some letters that are none.
    is_name = text.isascii() and names.dns_1123_subdomain(text.lower()) is None
    return (
        is_name
        and not text.replace(".", "").isdigit()
        and all(len(label) <= names.LABEL_LENGTH for label in text.split("."))
    )


def _ip(address: str) -> IPv4Address | IPv6Address | None:
    if not address or not (address[0].isdigit() or ":" in address):
        return None
    import ipaddress  # noqa: PLC0415 - 4 ms that EdgeMesh users do not pay

    try:
        parsed = ipaddress.ip_address(address)
    except ValueError:
        return None
    return parsed if getattr(parsed, "scope_id", None) is None else None


def is_ipv6(address: str) -> bool:
    """Whether an address that was checked is an IPv6 one."""
    return ":" in address


def is_port(text: str) -> bool:
    """Whether a text is a port as people write it: 1 to 65535, without leading zeros."""
    return re.fullmatch(_PORT, text) is not None and int(text) in PORTS


def with_scheme(endpoint: str, *, https: bool) -> str:
    """The URL of an S3 endpoint, which may be given without its scheme."""
    if not endpoint or "://" in endpoint:
        return endpoint
    return f"{'https' if https else 'http'}://{endpoint}"


def endpoint_problems(url: str) -> list[EndpointProblem]:
    """What keeps a text from being the URL of a server, and what in it should not lie in git."""
    parsed = go_url.parse(url)
    if isinstance(parsed, go_url.GoURLError):
        problem = f"the URL {parsed.message}"
    elif parsed.scheme not in ("http", "https"):
        problem = "the URL does not begin with http:// or https://"
    elif any(character.isspace() or not character.isprintable() for character in url):
        problem = "the URL has a blank or an invisible character in it"
    elif not re.sub(_PORT_AT_END, "", parsed.host):
        problem = "the URL has no host"
    elif (port := re.search(_PORT_AT_END, parsed.host)) and int(port[1][:9] or 80) not in PORTS:
        problem = "the port in the URL is not a port (1 to 65535)"
    elif parsed.userinfo:
        remedy = "take it out of the URL; the keys of an S3 store belong in a Secret of the cluster"
        message = "the URL holds a user name or password, for everybody who reads the repository"
        return [EndpointProblem("secret-value-in-git", WARNING, message, remedy)]
    else:
        return []
    remedy = "write http://<host>:<port> or https://<host>:<port>"
    return [EndpointProblem("invalid-endpoint", ERROR, problem, remedy)]

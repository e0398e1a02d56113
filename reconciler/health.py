"""Plain HTTP for probes and Prometheus: /healthz, /readyz, /metrics. Answers, and changes nothing."""

from __future__ import annotations

import http.server
import logging
import socket
import sys
from typing import TYPE_CHECKING, ClassVar, NamedTuple

if TYPE_CHECKING:
    from collections.abc import Callable

log = logging.getLogger(__name__)

_SECONDS = 10.0
_OK, _NOT_FOUND, _UNAVAILABLE = 200, 404, 503


class Page(NamedTuple):
    """An answer: whether all is well, its type, its text."""

    ok: bool
    content_type: str
    body: bytes


def verdict(troubles: list[str]) -> Page:
    """A probe's page: "ok", or what is wrong, a line each."""
    return Page(not troubles, "text/plain; charset=utf-8", ("\n".join(troubles or ["ok"]) + "\n").encode())


class HealthServer(http.server.ThreadingHTTPServer):
    """Serves pages, each made when it is asked for. Listens from the start; ``serve_forever`` answers."""

    daemon_threads = True
    request_queue_size = 32

    def __init__(self, address: str, pages: dict[str, Callable[[], Page]]) -> None:
        host, _, port = address.rpartition(":")
        host = host.strip("[]")
        # Without a host: every address of both families, where the machine has both.
        both = not host and socket.has_dualstack_ipv6()
        self.address_family = socket.AF_INET6 if both or ":" in host else socket.AF_INET
        self.pages = pages
        super().__init__((host, int(port)), _Handler)

    def server_bind(self) -> None:
        if self.address_family == socket.AF_INET6 and not self.server_address[0]:
            self.socket.setsockopt(socket.IPPROTO_IPV6, socket.IPV6_V6ONLY, 0)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind(self.server_address)
        self.server_address = self.socket.getsockname()

    def handle_error(self, request: object, client_address: object) -> None:
        del request
        log.debug("a request of %s was not answered: %r", client_address, sys.exception())


class _Handler(http.server.BaseHTTPRequestHandler):
    timeout: ClassVar[float] = _SECONDS
    protocol_version = "HTTP/1.1"
    server_version = "sedna-reconciler"
    sys_version = ""
    server: HealthServer

    def do_HEAD(self) -> None:  # the names are http.server's
        self.do_GET()

    def do_GET(self) -> None:
        make = self.server.pages.get(self.path.partition("?")[0])
        if make is None:
            self._answer(_NOT_FOUND, verdict(["not found"]))
            return
        page = make()
        self._answer(_OK if page.ok else _UNAVAILABLE, page)

    def _answer(self, status: int, page: Page) -> None:
        self.send_response(status)
        self.send_header("Content-Type", page.content_type)
        self.send_header("Content-Length", str(len(page.body)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(page.body)

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - http.server's name
        log.debug(format, *args)

"""Requests to the API server: bytes out, status and bytes in. Knows no kinds and decodes nothing.

Credentials, TLS and proxies come from the kubernetes package, the requests from urllib3 beneath it: nothing of
its models is made. Imports both only when a connection is made. Nothing here waits without a limit.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import threading
from typing import TYPE_CHECKING, Any, NamedTuple
from urllib.parse import urlencode

from reconciler.server_time import ServerTime

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping

    from reconciler.time_source import TimeSource

log = logging.getLogger(__name__)

MERGE_PATCH = "application/merge-patch+json"
_JSON = "application/json"

_CONNECT_SECONDS = 5.0
_READ_BYTES = 1 << 16
#: Seconds between two looks at a token that was refused.
_RELOAD_SECONDS = 5.0
_UNAUTHORIZED = 401
_KEPT_WARNINGS = 256


class UnreachableError(Exception):
    """No answer: refused, cut, timed out, or no credentials to ask with. The text says which."""


class SilentError(UnreachableError):
    """The connection stands, and nothing came over it for the time allowed."""


class Answer(NamedTuple):
    """Status and body of an answer, whatever they are."""

    status: int
    body: bytes
    #: Seconds that the server asked us to wait; 0 when it did not.
    retry_after: float = 0.0

    @property
    def ok(self) -> bool:
        return 200 <= self.status < 300  # noqa: PLR2004 - as HTTP defines it


class Transport:
    """Connections to one API server, shared by all threads."""

    def __init__(
        self,
        load: Callable[[Any], None],
        time: TimeSource,
        *,
        user_agent: str,
        connections: int = 16,
        counted: Callable[[str, str], None] = lambda _method, _code: None,
    ) -> None:
        self._load = load
        self._time = time
        self._counted = counted
        self._headers = {"User-Agent": user_agent, "Accept": _JSON}
        self._warnings: set[str] = set()
        self._reload_lock = threading.Lock()
        self._reloaded = time.monotonic()
        self._configuration = _configuration(load)
        self._pool = _pool(self._configuration, connections)
        self.server_time = ServerTime(time)

    @property
    def host(self) -> str:
        """Where the API server is, as a URL."""
        return str(self._configuration.host)

    def request(
        self,
        method: str,
        path: str,
        *,
        query: Mapping[str, str] | None = None,
        body: Mapping[str, Any] | None = None,
        content_type: str = _JSON,
        timeout: float = 30.0,
    ) -> Answer:
        """One request, sent once (twice when the token was refused); ``timeout`` is for all of it."""
        deadline = self._time.monotonic() + timeout
        data = None if body is None else json.dumps(body, separators=(",", ":")).encode()
        headers = {"Content-Type": content_type} if data else {}

        def send() -> Answer:
            response = self._open(method, _with(path, query), data, headers, timeout)
            self.server_time.heard(response.headers.get("Date"))
            return self._read(response, deadline)

        answer = send()
        return send() if answer.status == _UNAUTHORIZED and self._reload() else answer

    def stream(self, path: str, query: Mapping[str, str], *, silence: float, answer_within: float) -> Stream:
        """A GET whose body is read as it comes; ``silence`` is the longest pause in it."""
        response = self._open("GET", _with(path, query), None, {}, answer_within)
        if response.status == _UNAUTHORIZED:
            self._reload()
        return Stream(response, silence, lambda: self._read(response, self._time.monotonic() + answer_within))

    def close(self) -> None:
        self._pool.clear()

    def _open(
        self,
        method: str,
        path: str,
        data: bytes | None,
        headers: Mapping[str, str],
        timeout: float,
    ) -> Any:
        from urllib3.exceptions import HTTPError, ReadTimeoutError  # noqa: PLC0415 - see the module's docstring
        from urllib3.util import Timeout  # noqa: PLC0415

        try:
            response = self._pool.request(
                method,
                self._configuration.host.rstrip("/") + path,
                body=data,
                headers={**self._headers, **self._credentials(), **headers},
                timeout=Timeout(connect=min(timeout, _CONNECT_SECONDS), read=timeout),
                preload_content=False,
                redirect=False,
                retries=False,
            )
        except ReadTimeoutError as problem:
            self._counted(method, "<error>")
            raise SilentError(_brief(problem)) from problem
        except (HTTPError, OSError) as problem:
            self._counted(method, "<error>")
            raise UnreachableError(_brief(problem)) from problem
        self._counted(method, str(response.status))
        self._warn(response.headers.get("Warning"))
        return response

    def _credentials(self) -> dict[str, str]:
        """The headers that say who we are; the kubernetes package reads the token's file anew each minute."""
        try:
            settings = self._configuration.auth_settings()
        except Exception as problem:
            # An empty or missing token file while it is being replaced, a failing login helper: not for good.
            raise UnreachableError(f"no credentials: {_brief(problem)}") from problem
        return {each["key"]: each["value"] for each in settings.values() if each["in"] == "header"}

    def _reload(self) -> bool:
        """Read the credentials anew, not waiting for their age; whether that was done just now."""
        with self._reload_lock:
            now = self._time.monotonic()
            if now - self._reloaded < _RELOAD_SECONDS:
                return False
            self._reloaded = now
            try:
                self._load(self._configuration)
            except Exception as problem:  # noqa: BLE001 - whatever a login helper raises; the next try is near
                log.warning("cannot read the credentials anew: %s", _brief(problem))
                return False
            return True

    def _read(self, response: Any, deadline: float) -> Answer:
        """The whole body, however slowly it drips, until the deadline."""
        parts = []
        try:
            for chunk in _chunks(response):
                parts.append(chunk)
                if self._time.monotonic() > deadline:
                    raise SilentError("the answer did not end in time")
        except UnreachableError:
            response.close()
            raise
        response.release_conn()
        return Answer(response.status, b"".join(parts), _retry_after(response.headers.get("Retry-After")))

    def _warn(self, text: str | None) -> None:
        """Show a warning of the API server once."""
        if text and text not in self._warnings and len(self._warnings) < _KEPT_WARNINGS:
            self._warnings.add(text)
            log.warning("the API server warns: %s", text)


class Stream:
    """The body of an answer that goes on: chunks as they come."""

    def __init__(self, response: Any, silence: float, read: Callable[[], Answer]) -> None:
        self.status: int = response.status
        self._response = response
        self._read = read
        sock = getattr(getattr(response, "connection", None), "sock", None)
        if sock is not None:
            sock.settimeout(silence)

    def chunks(self) -> Iterator[bytes]:
        """Raises SilentError after silence, UnreachableError when it is cut; ends when the server ends it."""
        return _chunks(self._response)

    def answer(self) -> Answer:
        """All of it, for an answer that is an error."""
        return self._read()

    def close(self) -> None:
        """End it, from any thread: one that waits for the next byte is let go, which closing alone does not do."""
        with contextlib.suppress(OSError, ValueError, RuntimeError):
            self._response.shutdown()
        self._response.close()


def _chunks(response: Any) -> Iterator[bytes]:
    from urllib3.exceptions import HTTPError, ReadTimeoutError  # noqa: PLC0415 - see the module's docstring

    try:
        # What has come, be the answer chunked or not; `stream` waits for a full buffer when it is not.
        while chunk := response.read1(_READ_BYTES):
            yield chunk
    except (ReadTimeoutError, TimeoutError) as problem:
        raise SilentError(_brief(problem)) from problem
    except (HTTPError, OSError, ValueError, AttributeError) as problem:
        # The last two: closed by another thread while this one read.
        raise UnreachableError(_brief(problem)) from problem


def in_cluster(configuration: Any) -> None:
    """Fill in a Configuration from the pod's service account."""
    from kubernetes import config  # noqa: PLC0415 - see the module's docstring

    config.load_incluster_config(client_configuration=configuration)  # type: ignore[no-untyped-call]


def from_kubeconfig(file: str, context: str | None = None) -> Callable[[Any], None]:
    """What fills in a Configuration from a kubeconfig file."""

    def load(configuration: Any) -> None:
        from kubernetes import config  # noqa: PLC0415 - see the module's docstring

        config.load_kube_config(  # type: ignore[no-untyped-call]
            config_file=os.path.expanduser(file), context=context, client_configuration=configuration
        )

    return load


def _configuration(load: Callable[[Any], None]) -> Any:
    from kubernetes.client import Configuration  # noqa: PLC0415 - see the module's docstring

    configuration = Configuration()
    load(configuration)
    return configuration


def _pool(configuration: Any, connections: int) -> Any:
    import socket  # noqa: PLC0415 - see the module's docstring

    from kubernetes.client.rest import RESTClientObject  # noqa: PLC0415
    from urllib3.connection import HTTPConnection  # noqa: PLC0415

    configuration.connection_pool_maxsize = connections
    # A peer that went away without a word is noticed after 15 + 3 * 5 seconds.
    keep_alive = [(socket.SOL_SOCKET, socket.SO_KEEPALIVE, 1)]
    for option, value in (("TCP_KEEPIDLE", 15), ("TCP_KEEPINTVL", 5), ("TCP_KEEPCNT", 3)):
        if hasattr(socket, option):
            keep_alive.append((socket.IPPROTO_TCP, getattr(socket, option), value))
    configuration.socket_options = [*HTTPConnection.default_socket_options, *keep_alive]
    return RESTClientObject(configuration).pool_manager


def _with(path: str, query: Mapping[str, str] | None) -> str:
    return f"{path}?{urlencode(query)}" if query else path


def _retry_after(value: str | None) -> float:
    """Seconds, at most ten minutes; the header's other form, a date, is not used by Kubernetes."""
    return min(float(value), 600.0) if value and value.isascii() and value.isdigit() else 0.0


def _brief(problem: BaseException) -> str:
    """The innermost cause on one line, without the addresses of objects that urllib3 puts in."""
    while isinstance(inner := problem.__cause__ or getattr(problem, "reason", None), BaseException):
        problem = inner
    text = " ".join(str(problem).split())
    return f"{type(problem).__name__}: {text[:300]}"

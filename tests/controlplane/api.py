"""Talks to the tests' API server with nothing but the standard library: requests, answers, watches."""

from __future__ import annotations

import contextlib
import http.client
import json
import socket
import ssl
import threading
from collections.abc import Iterator, Mapping
from typing import Any, NamedTuple
from urllib.parse import urlencode

APPLY = "application/apply-patch+yaml"
JSON_PATCH = "application/json-patch+json"
MERGE_PATCH = "application/merge-patch+json"
STRATEGIC_MERGE_PATCH = "application/strategic-merge-patch+json"
_YAML = "application/yaml"
_JSON = "application/json"

Object = dict[str, Any]

# Where a kind is served: prefix, plural, whether in a namespace. Only those that tests name.
_NAMESPACED = {
    "ConfigMap": ("api/v1", "configmaps"),
    "Deployment": ("apis/apps/v1", "deployments"),
    "EndpointSlice": ("apis/discovery.k8s.io/v1", "endpointslices"),
    "Event": ("apis/events.k8s.io/v1", "events"),
    "HorizontalPodAutoscaler": ("apis/autoscaling/v2", "horizontalpodautoscalers"),
    "JointInferenceService": ("apis/sedna.io/v1alpha1", "jointinferenceservices"),
    "Lease": ("apis/coordination.k8s.io/v1", "leases"),
    "Model": ("apis/sedna.io/v1alpha1", "models"),
    "Pod": ("api/v1", "pods"),
    "ReplicaSet": ("apis/apps/v1", "replicasets"),
    "Role": ("apis/rbac.authorization.k8s.io/v1", "roles"),
    "RoleBinding": ("apis/rbac.authorization.k8s.io/v1", "rolebindings"),
    "Secret": ("api/v1", "secrets"),
    "Service": ("api/v1", "services"),
    "ServiceAccount": ("api/v1", "serviceaccounts"),
}
_CLUSTER = {
    "ClusterRole": ("apis/rbac.authorization.k8s.io/v1", "clusterroles"),
    "ClusterRoleBinding": ("apis/rbac.authorization.k8s.io/v1", "clusterrolebindings"),
    "CustomResourceDefinition": ("apis/apiextensions.k8s.io/v1", "customresourcedefinitions"),
    "Namespace": ("api/v1", "namespaces"),
    "Node": ("api/v1", "nodes"),
}


def path(kind: str, namespace: str | None = None, name: str = "", subresource: str = "") -> str:
    """The path of an object, or without a name of all of its kind (without a namespace: everywhere)."""
    prefix, plural = (_CLUSTER.get(kind) or _NAMESPACED[kind])[:2]
    inside = f"namespaces/{namespace}" if namespace and kind in _NAMESPACED else ""
    return "/" + "/".join(filter(None, [prefix, inside, plural, name, subresource]))


def path_of(manifest: Mapping[str, Any], *, collection: bool = False) -> str:
    """The path of a manifest's object, or the one it is created at."""
    metadata = manifest["metadata"]
    namespace = metadata.get("namespace", "default")
    return path(manifest["kind"], namespace, "" if collection else metadata["name"])


class RefusedError(Exception):
    """The API server answered with an error; the text is its own."""


class Answer(NamedTuple):
    """Status, body (a Status object for errors) and headers of one answer."""

    status: int
    body: Object
    headers: http.client.HTTPMessage

    def ok(self) -> Object:
        """The body of a good answer; raises RefusedError for any other."""
        if self.status >= http.client.BAD_REQUEST:
            raise RefusedError(f"{self.status}: {self.message}")
        return self.body

    @property
    def message(self) -> str:
        """What the API server says about an error, in its words."""
        return str(self.body.get("message", ""))

    @property
    def warnings(self) -> list[str]:
        return self.headers.get_all("Warning") or []


class Client:
    """Requests to one server; a connection a thread is kept, and made anew when the server was away."""

    def __init__(self, port: int, certificate: str) -> None:
        self.port = port
        self._tls = ssl.create_default_context(cafile=certificate)
        self._local = threading.local()
        self._kept: list[http.client.HTTPSConnection] = []

    def close(self) -> None:
        """Close the connections of all threads; the next request makes a new one."""
        while self._kept:
            self._kept.pop().close()

    def request(
        self,
        method: str,
        target: str,
        body: Mapping[str, Any] | list[Any] | str | None = None,
        *,
        token: str = "",
        content_type: str = "",
        query: Mapping[str, str] | None = None,
        timeout: float = 30.0,
    ) -> Answer:
        """One request; a body that is text is sent as it is (YAML unless ``content_type`` says otherwise)."""
        data = None if body is None else (body if isinstance(body, str) else json.dumps(body)).encode()
        default = _YAML if isinstance(body, str) else MERGE_PATCH if method == "PATCH" else _JSON
        headers = {"Authorization": f"Bearer {token}", "Accept": _JSON, "User-Agent": "tests"}
        if data is not None:
            headers["Content-Type"] = content_type or default
        response, text = self._send(method, _with_query(target, query), data, headers, timeout)
        is_json = response.headers.get_content_type() == _JSON
        return Answer(
            response.status, json.loads(text) if is_json else {"message": text.decode()}, response.headers
        )

    def watch(self, target: str, *, token: str = "", query: Mapping[str, str] | None = None) -> Watch:
        """Follow a collection; on a connection of its own."""
        connection = self._connect(None)
        headers = {"Authorization": f"Bearer {token}", "User-Agent": "tests"}
        try:
            connection.request("GET", _with_query(target, {**(query or {}), "watch": "1"}), headers=headers)
            return Watch(connection)
        except BaseException:
            connection.close()
            raise

    def _connect(self, timeout: float | None) -> http.client.HTTPSConnection:
        return http.client.HTTPSConnection("127.0.0.1", self.port, context=self._tls, timeout=timeout)

    def _send(
        self, method: str, target: str, data: bytes | None, headers: dict[str, str], timeout: float
    ) -> tuple[http.client.HTTPResponse, bytes]:
        kept: http.client.HTTPSConnection | None = self._local.__dict__.pop("connection", None)
        for connection in filter(None, (kept, self._connect(timeout))):
            try:
                if connection.sock:
                    connection.sock.settimeout(timeout)
                connection.request(method, target, data, headers)
                response = connection.getresponse()
                text = response.read()
            except (OSError, http.client.HTTPException):
                connection.close()
                if connection is not kept:
                    raise
            else:
                self._local.connection = connection
                if connection is not kept:
                    self._kept.append(connection)
                return response, text
        raise AssertionError("the new connection either answers or raises")


class Watch:
    """The events of a watch, as ``(type, object)``; ends when the server ends it, or on ``close`` from any thread."""

    def __init__(self, connection: http.client.HTTPSConnection) -> None:
        self._connection = connection
        self._socket = connection.sock
        self._response = connection.getresponse()

    def __iter__(self) -> Iterator[tuple[str, Object]]:
        try:
            if self._response.status >= http.client.BAD_REQUEST:
                raise RefusedError(f"{self._response.status}: {self._response.read().decode()}")
            # Closed by another thread, a response fails in ways of its own.
            with contextlib.suppress(OSError, http.client.HTTPException, ValueError, AttributeError):
                for line in self._response:
                    event = json.loads(line)
                    yield event["type"], event["object"]
        finally:
            self.close()

    def close(self) -> None:
        """Unblocks a thread that waits for the next event."""
        if self._socket:
            with contextlib.suppress(OSError):
                # Below TLS: the reading thread must not find its TLS layer gone.
                socket.socket.shutdown(self._socket, socket.SHUT_RDWR)
        self._response.close()
        self._connection.close()


def _with_query(target: str, query: Mapping[str, str] | None) -> str:
    return f"{target}?{urlencode(query)}" if query else target

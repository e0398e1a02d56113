"""An API server on loopback that keeps pods, services, leases and events, and misbehaves on request.

It has no schema and no admission: what the real one does is tested against the real one.
"""

from __future__ import annotations

import copy
import datetime as dt
import http.server
import json
import threading
import time  # noqa: TID251 - a server has a clock
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple
from urllib.parse import parse_qsl, urlsplit

Object = dict[str, Any]
NAMESPACE = "edge-ai"
SERVICE_LABEL = "jointinferenceservice.sedna.io/name"
WORKER_LABEL = "jointinferenceservice.sedna.io/worker-type"


class Request(NamedTuple):
    """One request as it came."""

    method: str
    path: str
    query: dict[str, str]
    body: Any
    headers: dict[str, str]
    time: float

    @property
    def is_watch(self) -> bool:
        return "watch" in self.query

    def of(self, plural: str) -> bool:
        return plural in self.path.split("/")


Matcher = Callable[[Request], bool]
#: Answers in the server's stead; returns False to let the server answer all the same.
Fault = Callable[["Handler", Request], object]


class FakeApi:
    """The server and what it holds."""

    def __init__(self) -> None:
        self.changed = threading.Condition()
        self.version = 1000
        self.objects: dict[tuple[str, str, str], Object] = {}
        self.history: list[tuple[int, str, str, Object]] = []
        self.requests: list[Request] = []
        self.oldest = 0
        self.clock_offset = 0.0
        #: What a status keeps; None: everything.
        self.kept_status: set[str] | None = None
        self._faults: list[list[Any]] = []
        self.server = Server(("127.0.0.1", 0), Handler)
        self.server.api = self
        self._thread = threading.Thread(target=self.server.serve_forever, args=(0.02,), daemon=True)
        self._thread.start()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server.server_address[1]}"

    def close(self) -> None:
        self.server.stopping = True
        with self.changed:
            self.changed.notify_all()
        self.server.shutdown()
        self.server.server_close()
        self._thread.join()

    # --- faults and looks

    def on(self, matcher: Matcher, fault: Fault, times: int = 1) -> None:
        """The next ``times`` requests that match are answered by the fault."""
        self._faults.append([matcher, fault, times])

    def fault_for(self, request: Request) -> Fault | None:
        with self.changed:
            for entry in self._faults:
                if entry[2] > 0 and entry[0](request):
                    entry[2] -= 1
                    fault: Fault = entry[1]
                    return fault
        return None

    def seen(self, method: str, plural: str, *, watch: bool | None = None) -> list[Request]:
        return [
            one
            for one in list(self.requests)
            if one.method == method and one.of(plural) and watch in (None, one.is_watch)
        ]

    def eventually(self, check: Callable[[], Any], seconds: float = 10.0) -> Any:
        """The first true value of ``check``; fails when there is none in time."""
        end = time.monotonic() + seconds
        while not (value := check()):
            assert time.monotonic() < end, f"not within {seconds} s; last requests: {self.requests[-8:]}"
            time.sleep(0.01)
        return value

    # --- what it holds

    def put(self, plural: str, manifest: Object) -> Object:
        """Create or replace an object, as somebody else than the program under test would."""
        with self.changed:
            metadata = manifest["metadata"]
            key = (plural, metadata["namespace"], metadata["name"])
            self.version += 1
            stored = copy.deepcopy(manifest)
            stored["metadata"]["resourceVersion"] = str(self.version)
            kind = "MODIFIED" if key in self.objects else "ADDED"
            self.objects[key] = stored
            self._tell(plural, kind, stored)
            return stored

    def delete(self, plural: str, name: str, namespace: str = NAMESPACE) -> None:
        with self.changed:
            self.version += 1
            gone = self.objects.pop((plural, namespace, name))
            gone["metadata"]["resourceVersion"] = str(self.version)
            self._tell(plural, "DELETED", gone)

    def get(self, plural: str, name: str, namespace: str = NAMESPACE) -> Object:
        with self.changed:
            return copy.deepcopy(self.objects[plural, namespace, name])

    def status(self, name: str) -> Object:
        """A service's status; empty where there is none."""
        with self.changed:
            status: Object = self.objects["jointinferenceservices", NAMESPACE, name].get("status", {})
            return copy.deepcopy(status)

    def condition(self, name: str, kind: str) -> Object:
        conditions = self.status(name).get("conditions", [])
        return next((one for one in conditions if one["type"] == kind), {})

    def of(self, plural: str, namespace: str | None) -> list[Object]:
        return [
            one
            for (kind, where, _), one in sorted(self.objects.items())
            if kind == plural and namespace in (None, where)
        ]

    def forget_history(self) -> None:
        """As compaction does: every version so far has expired."""
        with self.changed:
            self.version += 1
            self.oldest = self.version
            self.history.clear()

    def _tell(self, plural: str, kind: str, item: Object) -> None:
        self.history.append((self.version, plural, kind, copy.deepcopy(item)))
        self.changed.notify_all()


class Server(http.server.ThreadingHTTPServer):
    daemon_threads = True
    block_on_close = False
    request_queue_size = 64
    api: FakeApi
    stopping = False

    def handle_error(self, request: object, client_address: object) -> None:
        """Clients that go away are what some tests are about."""


class Handler(http.server.BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Server

    @property
    def api(self) -> FakeApi:
        return self.server.api

    def do_GET(self) -> None:
        self._answer("GET")

    def do_POST(self) -> None:
        self._answer("POST")

    def do_PUT(self) -> None:
        self._answer("PUT")

    def do_PATCH(self) -> None:
        self._answer("PATCH")

    def log_message(self, *_arguments: object) -> None:
        pass

    def date_time_string(self, timestamp: float | None = None) -> str:
        return super().date_time_string((timestamp or time.time()) + self.api.clock_offset)

    # --- answers, also for faults

    def json(self, status: int, body: Any, **headers: str) -> None:
        text = body if isinstance(body, bytes) else json.dumps(body).encode()
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(text)))
        for name, value in headers.items():
            self.send_header(name.replace("_", "-"), value)
        self.end_headers()
        self.wfile.write(text)

    def refuse(self, code: int, reason: str = "", message: str = "", **headers: str) -> None:
        self.json(code, status_of(code, reason, message), **headers)

    def begin_stream(self) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()

    def chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%s\r\n" % (len(data), data))
        self.wfile.flush()

    def end_stream(self) -> None:
        self.wfile.write(b"0\r\n\r\n")
        self.wfile.flush()

    def cut(self) -> None:
        """End the connection in the middle of whatever it is."""
        self.close_connection = True
        self.connection.close()

    # --- the server's own

    def _answer(self, method: str) -> None:
        url = urlsplit(self.path)
        length = int(self.headers.get("Content-Length") or 0)
        body = json.loads(self.rfile.read(length)) if length else None
        request = Request(
            method, url.path, dict(parse_qsl(url.query)), body, dict(self.headers.items()), time.monotonic()
        )
        self.api.requests.append(request)
        fault = self.api.fault_for(request)
        if fault is not None and fault(self, request) is not False:
            return
        parts = [part for part in url.path.split("/") if part]
        namespace = parts.pop(parts.index("namespaces") + 1) if "namespaces" in parts else None
        if namespace is not None:
            parts.remove("namespaces")
        plural, *rest = parts[2:] if parts[0] == "api" else parts[3:]
        if request.is_watch:
            self._watch(request, plural, namespace)
        elif method == "GET" and not rest:
            self._list(request, plural, namespace)
        elif method == "POST":
            self._create(plural, body)
        else:
            self._one(request, (plural, namespace or "", rest[0]))

    def _list(self, request: Request, plural: str, namespace: str | None) -> None:
        with self.api.changed:
            items = copy.deepcopy(self.api.of(plural, namespace))
            version = str(self.api.version)
        selector = request.query.get("labelSelector")
        if selector:
            items = [one for one in items if selector in one["metadata"].get("labels", {})]
        start = int(request.query.get("continue", "0"))
        limit = int(request.query.get("limit", "0")) or len(items)
        metadata = {"resourceVersion": version}
        if start + limit < len(items):
            metadata["continue"] = str(start + limit)
        self.json(200, {"kind": "List", "metadata": metadata, "items": items[start : start + limit]})

    def _watch(self, request: Request, plural: str, namespace: str | None) -> None:
        at = int(request.query["resourceVersion"])
        end = time.monotonic() + float(request.query["timeoutSeconds"])
        self.begin_stream()
        if at < self.api.oldest:
            self.chunk(event("ERROR", status_of(410, "Expired", "too old resource version")))
            self.end_stream()
            return
        while time.monotonic() < end and not self.server.stopping:
            with self.api.changed:
                found = [entry for entry in self.api.history if entry[0] > at and entry[1] == plural]
                if not found:
                    self.api.changed.wait(0.1)
            for version, _, kind, item in found:
                at = version
                if namespace in (None, item["metadata"]["namespace"]):
                    self.chunk(event(kind, item))
        self.end_stream()

    def _create(self, plural: str, body: Any) -> None:
        key = (plural, body["metadata"]["namespace"], body["metadata"]["name"])
        with self.api.changed:
            exists = key in self.api.objects
            stored = None if exists else self.api.put(plural, body)
        if exists:
            self.refuse(409, "AlreadyExists", "it exists")
        else:
            self.json(201, stored)

    def _one(self, request: Request, key: tuple[str, str, str]) -> None:
        with self.api.changed:
            old = self.api.objects.get(key)
            if old is None:
                self.refuse(404, "NotFound", "not found")
                return
            if request.method == "GET":
                self.json(200, old)
                return
            asked = request.body.get("metadata", {}).get("resourceVersion")
            if asked is not None and asked != old["metadata"]["resourceVersion"]:
                self.refuse(409, "Conflict", "the object has been modified")
                return
            new = request.body if request.method == "PUT" else self._patched(old, request.body)
            dry = request.query.get("dryRun") == "All"
            is_same = {**new, "metadata": 0} == {**old, "metadata": 0}
            stored = new if dry else old if is_same else self.api.put(key[0], new)
            self.json(200, stored)

    def _patched(self, old: Object, patch: Object) -> Object:
        new = copy.deepcopy(old)
        new.setdefault("status", {}).update(patch.get("status", {}))
        kept = self.api.kept_status
        if kept is not None:
            new["status"] = {name: value for name, value in new["status"].items() if name in kept}
        return new


def event(kind: str, item: Object) -> bytes:
    """One line of a watch."""
    return json.dumps({"type": kind, "object": item}).encode() + b"\n"


def status_of(code: int, reason: str = "", message: str = "") -> Object:
    return {"kind": "Status", "status": "Failure", "code": code, "reason": reason, "message": message}


# --- manifests --------------------------------------------------------------------------------------------------------


def stamp(seconds_ago: float = 0.0) -> str:
    now = dt.datetime.fromtimestamp(time.time(), dt.UTC) - dt.timedelta(seconds=seconds_ago)
    return now.strftime("%Y-%m-%dT%H:%M:%SZ")


def service(name: str = "helmet", **status: Any) -> Object:
    made: Object = {
        "apiVersion": "sedna.io/v1alpha1",
        "kind": "JointInferenceService",
        "metadata": {
            "namespace": NAMESPACE,
            "name": name,
            "uid": f"uid-of-{name}",
            "generation": 1,
            "creationTimestamp": stamp(),
        },
        "spec": {},
    }
    return {**made, "status": status} if status else made


def pod(worker: str = "cloud", of: str = "helmet", *, ready: bool = True, name: str = "") -> Object:
    """A pod that runs; not ready where that is said."""
    name = name or f"{of}-{worker}"
    condition = {"status": str(ready), "lastTransitionTime": stamp()}
    return {
        "metadata": {
            "namespace": NAMESPACE,
            "name": name,
            "uid": f"uid-of-{name}",
            "creationTimestamp": stamp(),
            "labels": {SERVICE_LABEL: of, WORKER_LABEL: worker},
        },
        "spec": {"nodeName": f"{worker}-node", "containers": [{"name": "worker", "image": "i"}]},
        "status": {
            "phase": "Running",
            "conditions": [
                {"type": "PodScheduled", "status": "True", "lastTransitionTime": stamp()},
                {"type": "Ready", **condition},
                {"type": "ContainersReady", **condition},
            ],
            "containerStatuses": [
                {
                    "name": "worker",
                    "ready": ready,
                    "restartCount": 0,
                    "state": {"running": {"startedAt": stamp()}},
                }
            ],
        },
    }


def crashing(worker: str = "edge", of: str = "helmet") -> Object:
    """A pod that waits to be started once more."""
    made = pod(worker, of, ready=False)
    made["status"]["containerStatuses"] = [
        {
            "name": "worker",
            "ready": False,
            "restartCount": 4,
            "state": {"waiting": {"reason": "CrashLoopBackOff", "message": "back-off 40s restarting"}},
            "lastState": {"terminated": {"exitCode": 1, "reason": "Error"}},
        }
    ]
    return made


def kubeconfig(url: str) -> str:
    """A kubeconfig file's text (JSON is YAML)."""
    return json.dumps(
        {
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": "fake",
            "contexts": [{"name": "fake", "context": {"cluster": "fake", "user": "fake"}}],
            "clusters": [{"name": "fake", "cluster": {"server": url}}],
            "users": [{"name": "fake", "user": {"token": "a-token"}}],
        }
    )


def running() -> Iterator[FakeApi]:
    """For a fixture."""
    api = FakeApi()
    yield api
    api.close()

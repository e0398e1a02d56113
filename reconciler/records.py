"""What the reconciler remembers of a pod and of a service: small frozen records, and nothing of the wire.

20,000 pods stay in memory, so what is equal is shared, and a healthy container keeps no times.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, Final, Literal

import msgspec

if TYPE_CHECKING:
    from sedna_api import WorkerType

Kind = Literal["Pod", "JointInferenceService"]

RUNNING: Final = "running"
WAITING: Final = "waiting"
TERMINATED: Final = "terminated"

MAIN: Final = "main"
INIT: Final = "init"
SIDECAR: Final = "sidecar"


class Termination(msgspec.Struct, frozen=True, gc=False):
    """How a run of a container ended. Times are the node's own clock: only differences of them mean anything."""

    exit_code: int
    reason: str = ""
    message: str = ""
    started: float = 0.0
    finished: float = 0.0


class Container(msgspec.Struct, frozen=True, gc=False):
    """One container's status. `last` is its latest ended run: the current state if that is an end."""

    name: str
    #: main, init, or sidecar (an init container that is restarted always).
    role: str = MAIN
    ready: bool = False
    restarts: int = 0
    #: running, waiting, terminated, or empty where the kubelet says nothing.
    state: str = ""
    reason: str = ""
    message: str = ""
    #: Of the current run, by the node's clock; 0 for a container that is ready.
    started: float = 0.0
    last: Termination | None = None


class PodCondition(msgspec.Struct, frozen=True, gc=False):
    """One condition of a pod."""

    status: str = ""
    reason: str = ""
    message: str = ""
    transition: float = 0.0


#: Stands for a condition that the pod does not have.
NO_CONDITION: Final = PodCondition()


class Pod(msgspec.Struct, frozen=True, gc=False):
    """A worker pod. `created` and `deletion` are the API server's stamps, in seconds since 1970."""

    namespace: str
    name: str
    uid: str
    resource_version: str = ""
    #: The service's name, by label.
    service: str = ""
    worker: WorkerType | None = None
    #: Uid of the JointInferenceService that it says it belongs to, or empty.
    owner_uid: str = ""
    created: float = 0.0
    deletion: float | None = None
    phase: str = ""
    reason: str = ""
    message: str = ""
    node: str = ""
    restart_policy: str = "Always"
    scheduled: PodCondition = NO_CONDITION
    ready: PodCondition = NO_CONDITION
    containers_ready: PodCondition = NO_CONDITION
    containers: tuple[Container, ...] = ()
    init_containers: tuple[Container, ...] = ()

    @property
    def is_live(self) -> bool:
        """As Sedna's own controller counts active pods."""
        return self.deletion is None and self.phase not in ("Succeeded", "Failed")

    @property
    def is_ready(self) -> bool:
        return self.ready.status == "True" and self.phase == "Running" and self.is_live


class Manager(msgspec.Struct, frozen=True, gc=False):
    """Somebody who wrote the status: when, and which of the fields that we write have a value of theirs now."""

    name: str
    time: float
    owns: tuple[str, ...] = ()


class Service(msgspec.Struct, frozen=True, gc=False):
    """A JointInferenceService without its spec. The status stays JSON until it is looked at: that is smaller."""

    namespace: str
    name: str
    uid: str
    resource_version: str = ""
    generation: int = 0
    created: float = 0.0
    deleting: bool = False
    status_json: bytes = b""
    managers: tuple[Manager, ...] = ()

    @property
    def status(self) -> dict[str, Any]:
        """The status as it is stored; empty where there is none or it is no object. Decoded at each call."""
        try:
            found = msgspec.json.decode(self.status_json or b"{}")
        except (msgspec.DecodeError, UnicodeDecodeError):
            return {}
        return found if isinstance(found, dict) else {}


class Poison(msgspec.Struct, frozen=True):
    """An object that could not be understood: to be counted, logged and stepped over."""

    kind: Kind
    namespace: str
    name: str
    resource_version: str
    error: str


class Bookmark(msgspec.Struct, frozen=True):
    """All is known up to here."""

    resource_version: str


class Failure(msgspec.Struct, frozen=True):
    """The API server's answer where it is not what was asked for: a Status."""

    code: int = 0
    reason: str = ""
    message: str = ""

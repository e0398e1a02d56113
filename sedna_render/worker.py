"""One of a service's two workers on its way to becoming manifests, and what it is rendered against. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from sedna_api import labels

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from sedna_api import WorkerType
    from sedna_render.findings import Path
    from sedna_render.inject import Place
    from sedna_render.inventory import Inventory
    from sedna_render.resources import Service
    from sedna_render.settings import Choices, Settings
    from sedna_render.templates import Templates


class World(NamedTuple):
    """All that a service is rendered against."""

    settings: Settings
    inventory: Inventory
    templates: Templates
    #: The path that is written down as an object's source, from the name of the file.
    source_path: Callable[[str], str]


class Worker(NamedTuple):
    """One of a service's two workers, on its way to becoming manifests."""

    service: Service
    type: WorkerType
    choices: Choices
    world: World
    place: Place

    @property
    def spec(self) -> Mapping[str, Any]:
        """``spec.cloudWorker`` or ``spec.edgeWorker``."""
        worker: Mapping[str, Any] = self.service.spec[f"{self.type}Worker"]
        return worker

    @property
    def labels(self) -> dict[str, str]:
        """What selects this worker's pods and nothing else."""
        return {labels.SERVICE_NAME: self.service.name, labels.WORKER_TYPE: self.type}

    def warn(self, rule: str, path: Path, message: str, remedy: str) -> None:
        """Report a warning about a field of the worker, beside its pod template."""
        worker_path = ("spec", f"{self.type}Worker", *path)
        self.place.findings.append(self.service.origin.warning(rule, worker_path, message, remedy))

    def report(self, rule: str, path: Path, message: str, remedy: str) -> None:
        """Report an error about a field of the worker, beside its pod template."""
        worker_path = ("spec", f"{self.type}Worker", *path)
        self.place.findings.append(self.service.origin.error(rule, worker_path, message, remedy))


class ModelPart(NamedTuple):
    """What a worker's model adds to its pod, and the path under which the worker finds it."""

    part: Mapping[str, Any] | None
    model_url: str
    data_path_prefix: str | None


def literal(text: str) -> str:
    """A text that stays as it is where the kubelet expands ``$(NAME)``: in env values and args."""
    return text.replace("$", "$$") if "$" in text else text

"""Explains one service: each effective setting and where it comes from. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sedna_api import CLOUD, EDGE
from sedna_api.labels import S3_ENDPOINT
from sedna_render import big_model as big_models
from sedna_render import model_mount, model_part
from sedna_render.settings import BIG_MODEL_PORT, DEFAULTS, NODE_PORT, annotation_source

if TYPE_CHECKING:
    from collections.abc import Iterator

    from sedna_render.inventory import Inventory
    from sedna_render.pipeline import Decisions
    from sedna_render.resources import Model, Service
    from sedna_render.worker import World

_ORIGINS = {
    "annotation": "",
    "recorded": "recorded in the lock file",
    "chosen": "chosen now, not recorded yet",
}
#: Settings of a run that a service cannot change, in the order in which they are shown.
_SHARED = (
    "nodePortRange",
    "lcServer",
    "storageInitializerImage",
    "s3Endpoint",
    "s3UseHttps",
    "edgeAutonomy",
    "modelReadOnly",
    "labels",
    "annotations",
    "layout",
    "output",
    "templates",
)


class Row(NamedTuple):
    """One effective setting."""

    name: str
    value: str
    source: str


def find(name: str, inventory: Inventory) -> Service | list[str]:
    """The service called ``namespace/name`` or ``name``; or the keys that may have been meant."""
    services = inventory.services
    if name in services:
        return services[name]
    same = [key for key in sorted(services) if key.partition("/")[2] == name]
    if len(same) == 1:
        return services[same[0]]
    if same:
        return same
    import difflib  # noqa: PLC0415 - only when an error is being worded

    by_name = {key.partition("/")[2]: key for key in sorted(services)}
    near = difflib.get_close_matches(name.rpartition("/")[2], by_name, n=5, cutoff=0.4)
    return [by_name[match] for match in near] or sorted(services)[:5]


def explain(service: Service, world: World, decisions: Decisions) -> Iterator[Row]:
    """The settings of a service in a fixed order; what is wrong with it is told by rendering it."""
    choice = decisions.choices.get(service.key)
    if choice is None:
        return
    for name in ("workload", "expose"):
        setting = world.settings.of(service, name)
        yield Row(name, setting.value, setting.source())
    annotated = "big-model-port" in service.annotations
    source = annotation_source(service, "big-model-port") if annotated else "default"
    yield Row("big-model-port", str(choice.big_model_port or BIG_MODEL_PORT), source)
    assigned = decisions.numbers.get(service.key)
    if assigned and choice.expose == NODE_PORT:
        origin = _ORIGINS[assigned.origin] or annotation_source(service, "node-port")
        yield Row("node-port", str(assigned.number), origin)
    big_model = big_models.find(service, choice, assigned.number if assigned else None, world, [])
    if big_model:
        yield Row("BIG_MODEL_IP", big_model.host, big_model.source())
        yield Row("BIG_MODEL_PORT", big_model.port, "the node port" if big_model.node_port else choice.expose)
    yield from _models(service, world)
    for name in _SHARED:
        value = world.settings[name]
        if value != DEFAULTS[name] or name in world.settings.given or value not in ("", {}):
            yield Row(name, _shown(value), world.settings.source(name))


def _models(service: Service, world: World) -> Iterator[Row]:
    for worker in (CLOUD, EDGE):
        name = service.spec[f"{worker}Worker"]["model"]["name"]
        model = world.inventory.models.get((service.namespace, name))
        if model is None:
            yield Row(f"{worker} model", name, "not among the inputs")
            continue
        plan = model_mount.plan(model.url, mount="model-mount" not in model.annotations)
        if (
            endpoint := model_part.s3_endpoint(model, world)
            if isinstance(plan, model_mount.Download)
            else None
        ):
            yield Row(f"{worker} S3 endpoint", _masked(endpoint), _endpoint_source(model, world))
        how = (
            plan.message if isinstance(plan, model_mount.Refused) else f"MODEL_URL {_masked(plan.model_url)}"
        )
        yield Row(f"{worker} model", f"{name}: {how}", str(model.origin.locate(("spec", "url"))))


def _endpoint_source(model: Model, world: World) -> str:
    if "s3-endpoint" in model.annotations:
        return str(model.origin.locate(("metadata", "annotations", S3_ENDPOINT)))
    secret = world.inventory.secrets.get((model.namespace, model.credential_name))
    return f"Secret {secret.name}" if secret and secret.s3_endpoint else world.settings.source("s3Endpoint")


def _masked(text: str) -> str:
    """A text without the user name and password that a URL in it may hold."""
    import re  # noqa: PLC0415 - only for this command

    return re.sub(r"://[^/@\s]*@", "://…@", text)


def _shown(value: object) -> str:
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, dict):
        return ", ".join(f"{key}={item}" for key, item in sorted(value.items())) or "none"
    return _masked(str(value))

"""A worker's model: which Model it is, and what the pod gets so that the worker can read it. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING

from sedna_api import KIND_MODEL, labels
from sedna_render import hosts, model_mount, names, verify
from sedna_render.object_checks import is_placeholder
from sedna_render.worker import ModelPart, literal

if TYPE_CHECKING:
    from collections.abc import Mapping
    from typing import Any

    from sedna_render.inventory import Inventory
    from sedna_render.resources import Model
    from sedna_render.worker import Worker, World

DATA_PATH_PREFIX = "/home/data"
#: Names of Models that one message lists at most.
MOST_NAMES = 10
#: Names that are compared with one that is not there.
MOST_COMPARED = 100


def model_part(worker: Worker) -> ModelPart | None:
    """What the worker's model adds to its pod; None after an error."""
    model = _find_model(worker)
    if model is None:
        return None
    mount = model.annotations.get("model-mount")
    if mount not in (None, "none"):
        worker.place.findings.append(
            model.origin.error(
                "invalid-annotation",
                ("metadata", "annotations", labels.MODEL_MOUNT),
                f'"{mount}" is not a known value',
                'write "none", or leave the annotation out',
            )
        )
        return None
    plan = model_mount.plan(model.url, mount=mount is None)
    if isinstance(plan, model_mount.Refused):
        worker.place.findings.append(
            model.origin.error(plan.rule, ("spec", "url"), plan.message, plan.remedy)
        )
        return None
    for warning in plan.warnings:
        worker.place.findings.append(
            model.origin.warning(warning.rule, ("spec", "url"), warning.message, warning.remedy)
        )
    if model.credential_name:
        _check_credential(worker, model, plan)
    if isinstance(plan, model_mount.HostPathMount):
        return ModelPart(_host_path(worker, plan), plan.model_url, DATA_PATH_PREFIX)
    if isinstance(plan, model_mount.Download):
        return _download(worker, model, plan)
    if isinstance(plan, model_mount.ClaimMount):
        values = {"claim_name": plan.claim, "mount_path": plan.mount_path}
        return ModelPart(
            verify.part(worker.world.templates, "model.claim.yaml", values), plan.model_url, None
        )
    return ModelPart(None, plan.model_url, None)


def _find_model(worker: Worker) -> Model | None:
    name, namespace = worker.spec["model"]["name"], worker.service.namespace
    inventory = worker.world.inventory
    model = inventory.models.get((namespace, name))
    # In a file that could not be read there may be the Model, and a placeholder is told already.
    told = is_placeholder(name) or (KIND_MODEL, namespace, name) in inventory.seen
    if model is None and not told and inventory.is_complete:
        worker.report("model-not-found", ("model", "name"), *_not_found(name, namespace, inventory))
    return model


def _not_found(name: str, namespace: str, inventory: Inventory) -> tuple[str, str]:
    import bisect  # noqa: PLC0415 - only when an error is being worded
    import difflib  # noqa: PLC0415 - likewise

    here, spaces = inventory.model_names(namespace), inventory.namespaces_of_model(name)
    elsewhere = [space for space in spaces if space != namespace]
    at = bisect.bisect(here, name)
    # With thousands of Models, only what lies beside the name in the alphabet is looked at.
    candidates = (
        here
        if len(here) <= MOST_COMPARED
        else here[max(0, at - MOST_COMPARED // 2) : at + MOST_COMPARED // 2]
    )
    near = difflib.get_close_matches(name, candidates, n=3, cutoff=0.5)
    listed = [*near, *(other for other in here[: MOST_NAMES + len(near)] if other not in near)][:MOST_NAMES]
    hidden = len(here) - len(listed)
    shown = ", ".join(listed) + (f" and {hidden} more" if hidden > 0 else "")
    message = (
        f'no Model "{name}" in namespace {namespace} ({f"there are: {shown}" if listed else "there is none"})'
    )
    if elsewhere:
        return (
            f"{message}; there is one in namespace {', '.join(elsewhere)}",
            f"a service and its Models share a namespace: move the Model to {namespace} or the service to {elsewhere[0]}",
        )
    if near:
        return message, f"did you mean {near[0]}?"
    return message, "add the Model to the inputs, or correct the name"


def _host_path(worker: Worker, plan: model_mount.HostPathMount) -> Mapping[str, Any]:
    own = (worker.spec["template"].get("spec") or {}).get("volumes") or ()
    wanted = {"path": plan.folder, "type": "Directory"}
    others = {volume["name"] for volume in own if volume.get("hostPath") != wanted}
    wanted_name = name = names.volume_name(plan.folder)
    if name in others:
        name = names.volume_name(plan.folder, others)
        worker.place.warning(
            "volume-name-clash",
            ("volumes",),
            f'a volume with other content is called "{wanted_name}": the model\'s becomes "{name}"',
            "rename the volume, if the name that Sedna would give is wanted",
        )
    values = {
        "volume_name": name,
        "host_path": plan.folder,
        "mount_path": plan.mount_path,
        "read_only": True if worker.world.settings["modelReadOnly"] else None,
    }
    return verify.part(worker.world.templates, "model.hostpath.yaml", values)


def _download(worker: Worker, model: Model, plan: model_mount.Download) -> ModelPart | None:
    is_s3 = plan.scheme == "s3"
    endpoint = s3_endpoint(model, worker.world) if is_s3 else ""
    if is_s3 and model.credential_name and not endpoint:
        worker.place.findings.append(
            model.origin.error(
                "model-credential-without-endpoint",
                ("spec", "credentialName"),
                f'Secret "{model.credential_name}" is to be used, and nothing says at which S3 endpoint',
                f"give one of: the annotation {labels.S3_ENDPOINT} on the Model; the Secret (its annotations "
                "s3-endpoint and s3-usehttps are read, its values are not) among the inputs; s3Endpoint in "
                "sedna-render.yaml",
            )
        )
        return None
    values = {
        "storage_initializer_image": worker.world.settings["storageInitializerImage"],
        "source_url": literal(plan.url),
        "download_folder": literal(plan.folder),
        "s3_endpoint_url": literal(endpoint) or None,
        "credential_name": (model.credential_name or None) if is_s3 else None,
    }
    return ModelPart(verify.part(worker.world.templates, "model.download.yaml", values), plan.model_url, None)


def _check_credential(worker: Worker, model: Model, plan: model_mount.Plan) -> None:
    """Credentials that nobody would use, or that lack what the download needs."""
    if not (isinstance(plan, model_mount.Download) and plan.scheme == "s3"):
        worker.place.findings.append(
            model.origin.warning(
                "credential-unused",
                ("spec", "credentialName"),
                "credentials are used for a download by s3:// only",
                "remove credentialName",
            )
        )
        return
    secret = worker.world.inventory.secrets.get((model.namespace, model.credential_name))
    # A Secret without any key is the form that belongs in git: something else fills it in the cluster.
    for key in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY") if secret and secret.keys else ():
        if secret and key not in secret.keys:
            worker.place.findings.append(
                model.origin.warning(
                    "secret-key-missing",
                    ("spec", "credentialName"),
                    f'Secret "{secret.name}" has no key {key}: the worker would not start',
                    f"add {key} to the Secret",
                )
            )


def s3_endpoint(model: Model, world: World) -> str:
    """The S3 endpoint's URL: the Model's annotation, the Secret's, the configuration's, or ""."""
    settings = world.settings
    annotated = model.annotations.get("s3-endpoint")
    if annotated:
        return hosts.with_scheme(annotated, https=settings["s3UseHttps"])
    secret = world.inventory.secrets.get((model.namespace, model.credential_name))
    if secret is not None and secret.s3_endpoint:
        # Only the exact text "0" means http: so does Sedna's controller read it.
        return hosts.with_scheme(secret.s3_endpoint, https=secret.s3_use_https != "0")
    return hosts.with_scheme(settings["s3Endpoint"], https=settings["s3UseHttps"])

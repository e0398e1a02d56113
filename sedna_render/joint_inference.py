"""One JointInferenceService becomes its manifests: a cloud worker, a Service in front of it, an edge worker. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from sedna_api import CLOUD, EDGE, KIND_MODEL, labels
from sedna_render import address, go_json, model_mount, names, pod_rules, schema
from sedna_render.findings import ERROR, InputError
from sedna_render.inject import PART_FIELDS, Place, cleaned, inject
from sedna_render.manifests import sort_key
from sedna_render.resources import is_placeholder
from sedna_render.settings import DEPLOYMENT, EDGE_MESH, NODE_PORT, POD, is_ipv6

if TYPE_CHECKING:
    from collections.abc import Callable, Collection, Mapping

    from sedna_api import WorkerType
    from sedna_render.findings import Finding, Path
    from sedna_render.manifests import Manifest
    from sedna_render.resources import Inventory, Model, Service
    from sedna_render.settings import Choices, Settings
    from sedna_render.templates import Filled, Templates

DATA_PATH_PREFIX = "/home/data"
#: What the library cannot do without, by the template that gives it.
CONTRACT = {
    "worker.cloud.yaml": ("NAMESPACE", "SERVICE_NAME", "WORKER_NAME", "MODEL_URL", "BIG_MODEL_BIND_PORT"),
    "worker.edge.yaml": (
        "NAMESPACE",
        "SERVICE_NAME",
        "WORKER_NAME",
        "MODEL_URL",
        "BIG_MODEL_IP",
        "BIG_MODEL_PORT",
        "HEM_NAME",
        "HEM_PARAMETERS",
    ),
}
#: Names of Models that one message lists at most.
MOST_NAMES = 10


class World(NamedTuple):
    """All that a service is rendered against."""

    settings: Settings
    inventory: Inventory
    templates: Templates
    #: The path that is written down as an object's source, from the name of the file.
    source_path: Callable[[str], str]


class BigModel(NamedTuple):
    """Where the edge worker finds the big model."""

    host: str
    port: str
    bind_ip: str
    bind_port: int
    node_port: int | None
    source: Callable[[], str]


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

    def report(self, rule: str, path: Path, message: str, remedy: str) -> None:
        """Report an error about a field of the worker, beside its pod template."""
        worker_path = ("spec", f"{self.type}Worker", *path)
        self.place.findings.append(self.service.origin.error(rule, worker_path, message, remedy))


class ModelPart(NamedTuple):
    """What a worker's model adds to its pod, and the path under which the worker finds it."""

    part: Mapping[str, Any] | None
    model_url: str
    data_path_prefix: str | None


def render_service(
    service: Service, choices: Choices, node_port: int | None, world: World, findings: list[Finding]
) -> tuple[Manifest, ...] | None:
    """The manifests of one service in their fixed order; None when there is an error among the findings.

    Raises InputError when a template is not right.
    """
    problems: list[Finding] = []
    cloud = _worker(service, CLOUD, choices, world, problems)
    edge = _worker(service, EDGE, choices, world, problems)
    cloud_model, edge_model = _model_part(cloud), _model_part(edge)
    usable = [
        pod_rules.check_template(worker.spec["template"].get("spec") or {}, choices.workload, worker.place)
        for worker in (cloud, edge)
    ]
    big_model = find_big_model(service, choices, node_port, world, problems)
    manifests = None
    if cloud_model and edge_model and big_model and all(usable):
        _check_job_name(service, problems)
        manifests = [
            _service_manifest(cloud, big_model),
            *_worker_manifests(cloud, _cloud_values(cloud, cloud_model, big_model), cloud_model),
            *_worker_manifests(edge, _edge_values(edge, edge_model, big_model), edge_model),
        ]
    else:
        for worker in (cloud, edge):
            _check_unrendered(worker)
    findings.extend(problems)
    if manifests is None or any(finding.severity == ERROR for finding in problems):
        return None
    return tuple(sorted(manifests, key=sort_key))


def find_big_model(
    service: Service, choices: Choices, node_port: int | None, world: World, findings: list[Finding]
) -> BigModel | None:
    """Where the edge worker finds the big model; None after an error."""
    port = choices.big_model_port
    if choices.expose == EDGE_MESH:
        host = f"{names.derived(service.name, '-cloud').name}.{service.namespace}"
        return BigModel(host, str(port), "0.0.0.0", port, None, _edge_mesh)  # noqa: S104
    if choices.expose == NODE_PORT:
        found = address.cloud_address(service, world.settings, world.inventory.nodes, findings)
        if found is None or node_port is None:
            return None
        reached = str(node_port)
    else:
        external = address.external_address(service, port, findings)
        if external is None:
            return None
        found, reached = external
    v6 = is_ipv6(found.host)
    if v6:
        findings.append(
            service.origin.warning(
                "ipv6-address",
                ("spec", "cloudWorker"),
                f"the big model is reached at the IPv6 address {found.host}: the cloud worker listens on ::",
                "give an IPv4 address if there is one: not every library version speaks IPv6",
            )
        )
    return BigModel(found.in_url, reached, "::" if v6 else "0.0.0.0", port, node_port, found.source)  # noqa: S104


def _edge_mesh() -> str:
    return "the Service's name, resolved by EdgeMesh"


def _worker(
    service: Service, worker_type: WorkerType, choices: Choices, world: World, findings: list[Finding]
) -> Worker:
    path = ("spec", f"{worker_type}Worker", "template", "spec")
    return Worker(service, worker_type, choices, world, Place(service.origin, path, findings))


def _cloud_values(worker: Worker, model: ModelPart, big_model: BigModel) -> dict[str, Any]:
    return {
        **_common_values(worker, model),
        "big_model_bind_port": str(big_model.bind_port),
        "big_model_bind_ip": big_model.bind_ip,
    }


def _edge_values(worker: Worker, model: ModelPart, big_model: BigModel) -> dict[str, Any]:
    mining = worker.spec["hardExampleMining"]
    parameters = [(entry["key"], entry["value"]) for entry in mining.get("parameters") or ()]
    return {
        **_common_values(worker, model),
        "big_model_ip": big_model.host,
        "big_model_port": big_model.port,
        "hem_name": literal(mining["name"]),
        "hem_parameters": literal(go_json.parameters(parameters)),
        "lc_server": literal(worker.world.settings["lcServer"]),
    }


def _common_values(worker: Worker, model: ModelPart) -> dict[str, Any]:
    service = worker.service
    return {
        "namespace": service.namespace,
        "service_name": service.name,
        "worker_name": names.worker_name(service.namespace, service.name, worker.type),
        "model_url": literal(model.model_url),
        "data_path_prefix": model.data_path_prefix,
    }


def literal(text: str) -> str:
    """A text that stays as it is where the kubelet expands ``$(NAME)``: in env values and args."""
    return text.replace("$", "$$") if "$" in text else text


# --- the model ---------------------------------------------------------------------------------------------------


def _model_part(worker: Worker) -> ModelPart | None:
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
        return ModelPart(_part(worker, "model.claim.yaml", values), plan.model_url, None)
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
    import difflib  # noqa: PLC0415 - only when an error is being worded

    known = [key for key in inventory.seen if key[0] == KIND_MODEL]
    here = sorted(key[2] for key in known if key[1] == namespace)
    elsewhere = sorted(key[1] for key in known if key[2] == name)
    near = difflib.get_close_matches(name, here, n=3, cutoff=0.5)
    listed = [*near, *(other for other in here if other not in near)]
    hidden = len(listed) - MOST_NAMES
    shown = ", ".join(listed[:MOST_NAMES]) + (f" and {hidden} more" if hidden > 0 else "")
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
    return _part(worker, "model.hostpath.yaml", values)


def _download(worker: Worker, model: Model, plan: model_mount.Download) -> ModelPart | None:
    is_s3 = plan.scheme == "s3"
    endpoint = _s3_endpoint(worker, model) if is_s3 else ""
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
    return ModelPart(_part(worker, "model.download.yaml", values), plan.model_url, None)


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


def _s3_endpoint(worker: Worker, model: Model) -> str:
    """The S3 endpoint's URL: the Model's annotation, the Secret's, the configuration's, or ""."""
    settings = worker.world.settings
    annotated = model.annotations.get("s3-endpoint")
    if annotated:
        return _with_scheme(annotated, https=settings["s3UseHttps"])
    secret = worker.world.inventory.secrets.get((model.namespace, model.credential_name))
    if secret is not None and secret.s3_endpoint:
        # Only the exact text "0" means http: so does Sedna's controller read it.
        return _with_scheme(secret.s3_endpoint, https=secret.s3_use_https != "0")
    return _with_scheme(settings["s3Endpoint"], https=settings["s3UseHttps"])


def _with_scheme(endpoint: str, *, https: bool) -> str:
    if not endpoint or "://" in endpoint:
        return endpoint
    return f"{'https' if https else 'http'}://{endpoint}"


# --- manifests ---------------------------------------------------------------------------------------------------


def _service_manifest(worker: Worker, big_model: BigModel) -> Manifest:
    template = "service.nodeport.yaml" if worker.choices.expose == NODE_PORT else "service.clusterip.yaml"
    values = {
        **_metadata(worker, _derived(worker, "Service", "", "-cloud")),
        "selector": worker.labels,
        "port": big_model.bind_port,
        "node_port": big_model.node_port,
    }
    return _manifest(worker, template, values, "Service")


def _worker_manifests(worker: Worker, values: Mapping[str, Any], model: ModelPart) -> list[Manifest]:
    parts = [_part(worker, f"worker.{worker.type}.yaml", values)]
    if model.part is not None:
        parts.append(model.part)
    if worker.type == EDGE and worker.world.settings["edgeAutonomy"]:
        parts.append(_part(worker, "edge-autonomy.yaml", values))
    template = worker.spec["template"]
    pod_spec = inject(cleaned(template["spec"]), parts, worker.place)
    _check_pod(worker, pod_spec)
    metadata = cleaned(template.get("metadata") or {})
    if any(metadata.get(name) for name in ("labels", "annotations", "finalizers")):
        worker.place.findings.append(
            worker.service.origin.warning(
                "template-metadata",
                ("spec", f"{worker.type}Worker", "template", "metadata"),
                "labels and annotations here are in what is rendered, but a cluster drops them from the service "
                "itself (Sedna's CRD does not keep them)",
                "nothing to do when the manifests are applied from git",
            )
        )
    if worker.choices.workload == POD:
        return [_pod(worker, pod_spec, metadata)]
    return _deployment(worker, pod_spec, metadata)


def _check_unrendered(worker: Worker) -> None:
    """What a pod that cannot be rendered yet would be refused for as well: to be told in the same run."""
    pod_spec = cleaned(worker.spec["template"].get("spec") or {})
    pod_rules.check_host_network({"hostNetwork": worker.type == EDGE, **pod_spec}, worker.place)


def _check_pod(worker: Worker, pod_spec: Mapping[str, Any]) -> None:
    pod_rules.check_host_network(pod_spec, worker.place)
    if worker.type == EDGE and pod_spec.get("hostNetwork") is False:
        worker.place.warning(
            "host-network-off",
            ("hostNetwork",),
            f"the edge worker is not on its node's network: its reports to {worker.world.settings['lcServer']} go nowhere "
            "if that is the node itself",
            "remove hostNetwork: false, or set lcServer in sedna-render.yaml to an address that the pod reaches",
        )
    if worker.spec.get("hpa") and worker.choices.workload == POD:
        worker.place.findings.append(
            worker.service.origin.warning(
                "hpa-on-pod",
                ("spec", f"{worker.type}Worker", "hpa"),
                "an autoscaler cannot scale a bare Pod: hpa is not rendered",
                "use workload: Deployment, or remove hpa",
            )
        )


def _pod(worker: Worker, pod_spec: Mapping[str, Any], metadata: Mapping[str, Any]) -> Manifest:
    values = _metadata(worker, _derived(worker, "Pod", "", f"-{worker.type}"))
    own = {**worker.labels, labels.MANAGED_BY: labels.MANAGED_BY_RENDERER}
    source = {
        name: values["annotations"][name]
        for name in (labels.SOURCE,)
        if name in (values["annotations"] or {})
    }
    values["labels"] = {**values["labels"], **(metadata.get("labels") or {}), **own}
    values["annotations"] = {
        **(values["annotations"] or {}),
        **(metadata.get("annotations") or {}),
        **source,
    } or None
    values["finalizers"] = metadata.get("finalizers")
    values["pod_spec"] = pod_spec
    return _manifest(worker, "pod.yaml", values, "Pod")


def _deployment(worker: Worker, pod_spec: Mapping[str, Any], metadata: Mapping[str, Any]) -> list[Manifest]:
    hpa = worker.spec.get("hpa")
    name = _derived(worker, "Deployment", "", f"-deployment-{worker.type}")
    values = {
        **_metadata(worker, name),
        "replicas": None if hpa else 1,
        "strategy": None if hpa and worker.type == CLOUD else {"type": "Recreate"},
        "selector": worker.labels,
        "pod_labels": {
            **(metadata.get("labels") or {}),
            **worker.labels,
            labels.MANAGED_BY: labels.MANAGED_BY_RENDERER,
        },
        "pod_annotations": metadata.get("annotations"),
        "finalizers": metadata.get("finalizers"),
        "pod_spec": pod_spec,
    }
    manifests = [_manifest(worker, "deployment.yaml", values, DEPLOYMENT)]
    if hpa:
        scaler = cleaned(hpa)
        values = {
            **_metadata(
                worker, _derived(worker, "HorizontalPodAutoscaler", "hpa-", f"-deployment-{worker.type}")
            ),
            "deployment_name": name,
            "min_replicas": scaler.get("minReplicas"),
            "max_replicas": scaler["maxReplicas"],
            "metrics": scaler.get("metrics"),
            "behavior": scaler.get("behavior"),
        }
        manifests.append(_manifest(worker, "hpa.yaml", values, "HorizontalPodAutoscaler"))
    return manifests


def _metadata(worker: Worker, name: str) -> dict[str, Any]:
    """The variables that every manifest's metadata is made of."""
    settings, service = worker.world.settings, worker.service
    source = worker.world.source_path(service.origin.document.source.name)
    annotations = {**settings["annotations"], **({labels.SOURCE: source} if source else {})}
    return {
        "name": name,
        "namespace": service.namespace,
        "labels": {**settings["labels"], **worker.labels, labels.MANAGED_BY: labels.MANAGED_BY_RENDERER},
        "annotations": annotations or None,
    }


def _derived(worker: Worker, kind: str, prefix: str, suffix: str) -> str:
    derived = names.derived(prefix + worker.service.name, suffix)
    if derived.shortened:
        worker.place.findings.append(
            worker.service.origin.warning(
                "name-shortened",
                ("metadata", "name"),
                f"the name of the {kind} would be longer than 63 characters: it becomes {derived.name}",
                "a shorter service name keeps its objects' names readable",
            )
        )
    return derived.name


# --- templates ---------------------------------------------------------------------------------------------------


def _part(worker: Worker, name: str, values: Mapping[str, Any]) -> Mapping[str, Any]:
    """What a worker template gives, verified."""
    filled = worker.world.templates[name].fill(values)
    if filled.unverified:
        _verify_part(filled, CONTRACT.get(name, ()))
    return filled.data


def _verify_part(filled: Filled, contract: Collection[str]) -> None:
    unknown = [field for field in filled.data if field not in PART_FIELDS]
    if unknown:
        raise InputError(
            filled.error(
                (unknown[0],), f"unknown field {unknown[0]}", f"known here: {', '.join(PART_FIELDS)}"
            )
        )
    part = filled.data
    container = {"name": "worker", "env": part.get("env", []), "volumeMounts": part.get("volumeMounts", [])}
    # Each field of the part at its place in a pod, so that the pod's schema says what is wrong with it.
    spec = part.get("spec", {})
    pod = {**spec, "containers": [container]} if isinstance(spec, dict) else spec
    if isinstance(pod, dict):
        pod.update({field: part[field] for field in ("initContainers", "volumes") if field in part})
    manifest = {"apiVersion": "v1", "kind": "Pod", "metadata": {"name": "worker"}, "spec": pod}
    problems = [
        filled.error(_path_in_part(violation.path), violation.message, violation.remedy)
        for violation in schema.check_manifest(manifest)
    ]
    given = {entry["name"] for entry in part.get("env", [])} if not problems else contract
    problems += [
        filled.error(
            ("env",),
            f"the template gives no {name}",
            f"keep the entry {name}: the worker cannot work without",
        )
        for name in contract
        if name not in given
    ]
    if problems:
        raise InputError(*problems)


def _path_in_part(path: Path) -> Path:
    if path[:3] == ("spec", "containers", 0):
        return path[3:]
    return path[1:] if len(path) > 1 and path[1] in PART_FIELDS else path


_IDENTITY: tuple[Path, ...] = (("kind",), ("metadata", "name"), ("metadata", "namespace"))


def _manifest(worker: Worker, template: str, values: Mapping[str, Any], kind: str) -> Manifest:
    """The manifest that a template gives, verified: the expected kind, name and namespace, valid for the API."""
    filled = worker.world.templates[template].fill(values)
    manifest = filled.data
    metadata = manifest.get("metadata")
    if not isinstance(metadata, dict):
        metadata = {}
    found = (manifest.get("kind"), metadata.get("name"), metadata.get("namespace"))
    wanted = (kind, values["name"], values["namespace"])
    if found != wanted:
        raise InputError(
            filled.error(
                next(path for path, one, other in zip(_IDENTITY, found, wanted, strict=True) if one != other),
                f"the template gives {found[0]} {found[2]}/{found[1]} where {kind} {wanted[2]}/{wanted[1]} is wanted",
                "keep kind, metadata.name: {{ name }} and metadata.namespace: {{ namespace }}",
            )
        )
    if filled.unverified:
        problems = [
            filled.error(violation.path, violation.message, violation.remedy)
            for violation in schema.check_manifest(manifest)
            if violation.severity == ERROR
        ]
        if problems:
            raise InputError(*problems)
    return manifest


def _check_job_name(service: Service, findings: list[Finding]) -> None:
    """Both workers must agree on JOB_NAME: it is part of the URL that one calls and the other serves."""
    said = {
        worker: {
            entry.get("value", "")
            for container in service.spec[f"{worker}Worker"]["template"]["spec"]["containers"]
            for entry in container.get("env") or ()
            if entry["name"] == "JOB_NAME"
        }
        or {service.name}
        for worker in (CLOUD, EDGE)
    }
    if said[CLOUD] != said[EDGE]:
        findings.append(
            service.origin.warning(
                "job-name-differs",
                ("spec",),
                f"JOB_NAME is {', '.join(sorted(said[CLOUD]))} in the cloud worker and "
                f"{', '.join(sorted(said[EDGE]))} in the edge worker: the edge's calls would find nothing",
                "leave JOB_NAME out of both: it is then the service's name",
            )
        )

"""One JointInferenceService becomes its manifests: a cloud worker, a Service in front of it, an edge worker. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sedna_api import CLOUD, EDGE
from sedna_render import big_model as big_models
from sedna_render import go_json, names, pod_rules
from sedna_render.findings import ERROR
from sedna_render.inject import Place, cleaned
from sedna_render.manifests import sort_key
from sedna_render.model_part import model_part
from sedna_render.worker import Worker, literal
from sedna_render.worker_manifests import service_manifest, worker_manifests

if TYPE_CHECKING:
    from sedna_api import WorkerType
    from sedna_render.big_model import BigModel
    from sedna_render.findings import Finding
    from sedna_render.manifests import Manifest
    from sedna_render.resources import Service
    from sedna_render.settings import Choices
    from sedna_render.worker import ModelPart, World


def render_service(
    service: Service, choices: Choices, node_port: int | None, world: World, findings: list[Finding]
) -> tuple[Manifest, ...] | None:
    """The manifests of one service in their fixed order; None when there is an error among the findings.

    Raises InputError when a template is not right.
    """
    problems: list[Finding] = []
    cloud = _worker(service, CLOUD, choices, world, problems)
    edge = _worker(service, EDGE, choices, world, problems)
    cloud_model, edge_model = model_part(cloud), model_part(edge)
    usable = [
        pod_rules.check_template(worker.spec["template"].get("spec") or {}, choices.workload, worker.place)
        for worker in (cloud, edge)
    ]
    big_model = big_models.find(service, choices, node_port, world, problems)
    manifests = None
    if cloud_model and edge_model and big_model and all(usable):
        _check_job_name(service, problems)
        manifests = [
            service_manifest(cloud, big_model),
            *worker_manifests(cloud, _cloud_values(cloud, cloud_model, big_model), cloud_model),
            *worker_manifests(edge, _edge_values(edge, edge_model, big_model), edge_model),
        ]
    else:
        for worker in (cloud, edge):
            _check_unrendered(worker)
    findings.extend(problems)
    if manifests is None or any(finding.severity == ERROR for finding in problems):
        return None
    return tuple(sorted(manifests, key=sort_key))


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


def _check_unrendered(worker: Worker) -> None:
    """What a pod that cannot be rendered yet would be refused for as well: to be told in the same run."""
    pod_spec = cleaned(worker.spec["template"].get("spec") or {})
    pod_rules.check_host_network({"hostNetwork": worker.type == EDGE, **pod_spec}, worker.place)


def _check_job_name(service: Service, findings: list[Finding]) -> None:
    """Both workers must agree on JOB_NAME: it is part of the URL that one calls and the other serves."""
    cloud, edge = (_job_names(service, worker) for worker in (CLOUD, EDGE))
    if cloud and edge and cloud != edge:
        findings.append(
            service.origin.warning(
                "job-name-differs",
                ("spec",),
                f"JOB_NAME is {', '.join(sorted(cloud))} in the cloud worker and "
                f"{', '.join(sorted(edge))} in the edge worker: the edge's calls would find nothing",
                "leave JOB_NAME out of both: it is then the service's name",
            )
        )


def _job_names(service: Service, worker: WorkerType) -> set[str]:
    """What a worker's containers have as JOB_NAME; empty when only the cluster knows."""
    entries = [
        entry
        for container in service.spec[f"{worker}Worker"]["template"]["spec"]["containers"]
        for entry in container.get("env") or ()
        if entry["name"] == "JOB_NAME"
    ]
    if any(entry.get("valueFrom") for entry in entries):
        return set()
    return {entry.get("value") or "" for entry in entries} or {service.name}

"""A worker's manifests: its pod with everything injected, as a Pod or as a Deployment with its autoscaler. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sedna_api import CLOUD, EDGE, labels
from sedna_render import names, verify, worker_rules
from sedna_render.inject import cleaned, inject
from sedna_render.settings import DEPLOYMENT, NODE_PORT, POD

if TYPE_CHECKING:
    from collections.abc import Mapping

    from sedna_render.big_model import BigModel
    from sedna_render.manifests import Manifest
    from sedna_render.worker import ModelPart, Worker


def service_manifest(worker: Worker, big_model: BigModel) -> Manifest:
    template = "service.nodeport.yaml" if worker.choices.expose == NODE_PORT else "service.clusterip.yaml"
    values = {
        **_metadata(worker, _derived(worker, "Service", "", "-cloud")),
        "selector": worker.labels,
        "port": big_model.bind_port,
        "node_port": big_model.node_port,
    }
    return verify.manifest(worker.world.templates, template, values, "Service")


def worker_manifests(worker: Worker, values: Mapping[str, Any], model: ModelPart) -> list[Manifest]:
    parts = [verify.part(worker.world.templates, f"worker.{worker.type}.yaml", values)]
    if model.part is not None:
        parts.append(model.part)
    if worker.type == EDGE and worker.world.settings["edgeAutonomy"]:
        parts.append(verify.part(worker.world.templates, "edge-autonomy.yaml", values))
    template = worker.spec["template"]
    pod_spec = inject(cleaned(template["spec"]), parts, worker.place)
    metadata = cleaned(template.get("metadata") or {})
    worker_rules.check(worker, pod_spec, metadata)
    if worker.choices.workload == POD:
        return [_pod(worker, pod_spec, metadata)]
    return _deployment(worker, pod_spec, metadata)


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
    return verify.manifest(worker.world.templates, "pod.yaml", values, "Pod")


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
    manifests = [verify.manifest(worker.world.templates, "deployment.yaml", values, DEPLOYMENT)]
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
        manifests.append(
            verify.manifest(worker.world.templates, "hpa.yaml", values, "HorizontalPodAutoscaler")
        )
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

"""What is wrong, or worth knowing, about a worker once its pod is whole. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from sedna_api import EDGE
from sedna_render import address, names, pod_rules, pod_values
from sedna_render.settings import POD

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping

    from sedna_render.findings import Path
    from sedna_render.worker import Worker

#: Finalizers that need no domain before a slash.
_KUBERNETES_FINALIZERS = frozenset({"kubernetes", "orphan", "foregroundDeletion"})


def check(worker: Worker, pod_spec: Mapping[str, Any], metadata: Mapping[str, Any]) -> None:
    """Report on a worker; pod_spec is the whole pod, metadata the user's own (both without nulls)."""
    pod_rules.check_host_network(pod_spec, worker.place)
    pod_values.check_mounted_volumes(pod_spec, worker.place)
    if worker.type == EDGE:
        _check_edge(worker, pod_spec)
    if metadata:
        _check_metadata(worker, metadata)
    if worker.spec.get("hpa"):
        _check_hpa(worker, pod_spec)


def _check_edge(worker: Worker, pod_spec: Mapping[str, Any]) -> None:
    if pod_spec.get("hostNetwork") is False:
        worker.place.warning(
            "host-network-off",
            ("hostNetwork",),
            "the edge worker is not on its node's network: its reports to lcServer go nowhere if that "
            "is the node itself",
            "remove hostNetwork: false, or set lcServer in sedna-render.yaml to an address that the pod reaches",
        )
    if not (address.node_of(pod_spec) or pod_spec.get("nodeSelector") or pod_spec.get("affinity")):
        worker.place.warning(
            "edge-not-pinned",
            (),
            "nothing says on which node the edge worker runs: the scheduler may put it anywhere, into the cloud too",
            "add nodeSelector (kubernetes.io/hostname: <edge node>) or nodeName to the template's spec",
        )


def _check_metadata(worker: Worker, metadata: Mapping[str, Any]) -> None:
    for path, problem in _name_problems(metadata):
        remedy = "write it as example.com/name" if path[0] == "finalizers" else "see Kubernetes' label syntax"
        worker.report("invalid-name", ("template", "metadata", *path), problem, remedy)
    if any(metadata.get(name) for name in ("labels", "annotations", "finalizers")):
        worker.warn(
            "template-metadata",
            ("template", "metadata"),
            "labels and annotations here are in what is rendered, but a cluster drops them from the service "
            "itself (Sedna's CRD does not keep them)",
            "nothing to do when the manifests are applied from git",
        )


def _name_problems(metadata: Mapping[str, Any]) -> Iterator[tuple[Path, str]]:
    for key, value in (metadata.get("labels") or {}).items():
        if problem := names.label_key(key) or names.label_value(value):
            yield ("labels", key), problem
    for key in metadata.get("annotations") or {}:
        if problem := names.annotation_key(key):
            yield ("annotations", key), problem
    for index, finalizer in enumerate(metadata.get("finalizers") or ()):
        problem = names.label_key(finalizer)
        if problem is None and "/" not in finalizer and finalizer not in _KUBERNETES_FINALIZERS:
            problem = "has no domain: only Kubernetes' own finalizers are without one"
        if problem:
            yield ("finalizers", index), problem


def _check_hpa(worker: Worker, pod_spec: Mapping[str, Any]) -> None:
    hpa = worker.spec["hpa"]
    if worker.choices.workload == POD:
        message = "an autoscaler cannot scale a bare Pod: hpa is not rendered"
        worker.warn("hpa-on-pod", ("hpa",), message, "use workload: Deployment, or remove hpa")
        return
    least, most = hpa.get("minReplicas"), hpa["maxReplicas"]
    if most < 1:
        worker.report("hpa-replicas", ("hpa", "maxReplicas"), f"{most} is less than 1", "write 1 or more")
    if least is not None and least < 1 and not (least == 0 and _may_rest(hpa)):
        worker.report("hpa-replicas", ("hpa", "minReplicas"), f"{least} is less than 1", "write 1 or more")
    elif least is not None and 1 <= most < least:
        message = f"{least} is more than maxReplicas, which is {most}"
        worker.report(
            "hpa-replicas", ("hpa", "minReplicas"), message, "raise maxReplicas, or lower minReplicas"
        )
    node = address.node_of(pod_spec)
    if node and most > 1 and pod_spec.get("hostNetwork"):
        worker.warn(
            "hpa-with-host-network",
            ("hpa", "maxReplicas"),
            f"up to {most} pods would share the network of node {node}: two that listen on one port never both run",
            "write maxReplicas: 1, or give the worker several nodes",
        )


def _may_rest(hpa: Mapping[str, Any]) -> bool:
    """Whether its metrics tell something while no pod runs: only then may it scale to none, behind a feature gate."""
    return any(metric.get("type") in ("Object", "External") for metric in hpa.get("metrics") or ())

"""Node objects as the kubelet stand-in registers them, and the Lease that says they are alive. Pure: data in, data out."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

Object = dict[str, Any]

CAPACITY = {"cpu": "16", "memory": "64Gi", "ephemeral-storage": "100Gi", "pods": "110"}
NOT_READY = "node.kubernetes.io/not-ready"
LEASES = "kube-node-lease"
LEASE_SECONDS = 40  # what a kubelet asks for
_PRESSURES = {
    "MemoryPressure": "KubeletHasSufficientMemory",
    "DiskPressure": "KubeletHasNoDiskPressure",
    "PIDPressure": "KubeletHasSufficientPID",
}


def node(name: str, labels: Mapping[str, str]) -> Object:
    usual = {"kubernetes.io/hostname": name, "kubernetes.io/os": "linux", "kubernetes.io/arch": "amd64"}
    return {"apiVersion": "v1", "kind": "Node", "metadata": {"name": name, "labels": {**usual, **labels}}}


def status(name: str, address: str, now: str, capacity: Mapping[str, str]) -> Object:
    """What a kubelet reports of a node that is well."""
    resources = {**CAPACITY, **capacity}
    pressures = [_condition(kind, "False", now, reason) for kind, reason in _PRESSURES.items()]
    return {
        "capacity": resources,
        "allocatable": resources,
        "conditions": [*pressures, _condition("Ready", "True", now, "KubeletReady")],
        "addresses": [{"type": "InternalIP", "address": address}, {"type": "Hostname", "address": name}],
        "nodeInfo": {
            "machineID": name,
            "systemUUID": name,
            "bootID": name,
            "kernelVersion": "6.1.0",
            "osImage": "none",
            "containerRuntimeVersion": "containerd://2.0.0",
            "kubeletVersion": "v1.36.3",
            "kubeProxyVersion": "",
            "operatingSystem": "linux",
            "architecture": "amd64",
        },
    }


def lease(name: str, now: str) -> Object:
    """Whoever renews it is alive; now has six digits after the point."""
    return {
        "apiVersion": "coordination.k8s.io/v1",
        "kind": "Lease",
        "metadata": {"name": name, "namespace": LEASES},
        "spec": {"holderIdentity": name, "leaseDurationSeconds": LEASE_SECONDS, "renewTime": now},
    }


def _condition(kind: str, value: str, now: str, reason: str) -> Object:
    return {
        "type": kind,
        "status": value,
        "reason": reason,
        "lastHeartbeatTime": now,
        "lastTransitionTime": now,
    }

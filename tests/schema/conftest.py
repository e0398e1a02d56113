"""One valid service for all tests of the schemas, with a little of everything in it."""

from __future__ import annotations

from typing import Any

import pytest


def _worker(model: str, port: int) -> dict[str, Any]:
    return {
        "model": {"name": model},
        "template": {
            "metadata": {"labels": {"team": "vision"}},
            "spec": {
                "nodeName": "node-1",
                "hostNetwork": True,
                "tolerations": [{"operator": "Exists", "tolerationSeconds": 300}],
                "containers": [
                    {
                        "name": "main",
                        "image": "example/inference:v1",
                        "args": ["--size", "416"],
                        "env": [
                            {"name": "SIZE", "value": "416,736"},
                            {"name": "IP", "valueFrom": {"fieldRef": {"fieldPath": "status.hostIP"}}},
                        ],
                        "ports": [{"containerPort": port, "protocol": "TCP"}],
                        "resources": {"requests": {"cpu": 1, "memory": "64Mi"}, "limits": {"cpu": "1.5"}},
                        "readinessProbe": {"tcpSocket": {"port": "http"}},
                        "volumeMounts": [{"name": "out", "mountPath": "/data"}],
                    }
                ],
                "volumes": [{"name": "out", "hostPath": {"path": "/out", "type": "Directory"}}],
            },
        },
    }


@pytest.fixture
def service() -> dict[str, Any]:
    edge = _worker("little", 80)
    edge["hardExampleMining"] = {"name": "IBT", "parameters": [{"key": "threshold", "value": "0.9"}]}
    return {
        "apiVersion": "sedna.io/v1alpha1",
        "kind": "JointInferenceService",
        "metadata": {"name": "helmet", "namespace": "default", "labels": {"a": "b"}, "annotations": {}},
        "spec": {"edgeWorker": edge, "cloudWorker": _worker("big", 5000)},
    }

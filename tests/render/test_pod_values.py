"""What every API server refuses in a worker's template is refused here, and nothing that it takes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Render = Callable[..., Any]

NODE_IP = {"fieldRef": {"fieldPath": "status.hostIP"}}
KEY = {"name": "a", "key": "b"}
EXTERNAL = {
    "type": "External",
    "external": {"metric": {"name": "queue"}, "target": {"type": "Value", "value": "3"}},
}


def container(**fields: Any) -> dict[str, Any]:
    return {"containers": [{"name": "main", "image": "example.com/main:1", **fields}]}


def ports(*given: dict[str, Any]) -> dict[str, Any]:
    return container(ports=list(given))


def env(**entry: Any) -> dict[str, Any]:
    return container(env=[{"name": "X", **entry}])


def mount(**fields: Any) -> dict[str, Any]:
    return {
        **container(volumeMounts=[{"name": "v", "mountPath": "/v", **fields}]),
        "volumes": [{"name": "v", "emptyDir": {}}],
    }


def toleration(**fields: Any) -> dict[str, Any]:
    return {"tolerations": [fields]}


@pytest.mark.parametrize(
    ("spec", "rule", "field"),
    [
        pytest.param(container(image=" "), "invalid-image", "containers[0].image", id="image-blank"),
        pytest.param(container(image="a b"), "invalid-image", "containers[0].image", id="image-blank-inside"),
        pytest.param(container(image="a\n"), "invalid-image", "containers[0].image", id="image-line-end"),
        pytest.param(container(image=""), "image-missing", "containers[0]", id="image-empty"),
        pytest.param(
            ports({"containerPort": 0}), "invalid-port", "containers[0].ports[0].containerPort", id="port-0"
        ),
        pytest.param(
            ports({"containerPort": 65536}),
            "invalid-port",
            "containers[0].ports[0].containerPort",
            id="port-65536",
        ),
        pytest.param(
            {**ports({"containerPort": 80, "hostPort": -1}), "hostNetwork": False},
            "invalid-port",
            "containers[0].ports[0].hostPort",
            id="host-port",
        ),
        *(
            pytest.param(
                ports({"containerPort": 80, "name": name}),
                "invalid-port",
                "containers[0].ports[0].name",
                id=f"port-name-{name}",
            )
            for name in ("Http", "80", "a--b", "-a", "a-", "a_b", "a" * 16)
        ),
        pytest.param(
            ports({"containerPort": 80, "name": "a"}, {"containerPort": 81, "name": "a"}),
            "invalid-port",
            "containers[0].ports[1].name",
            id="port-name-twice",
        ),
        pytest.param(
            ports({"containerPort": 80, "protocol": "tcp"}),
            "unsupported-value",
            "containers[0].ports[0].protocol",
            id="protocol",
        ),
        *(
            pytest.param(env(name=name), "invalid-env", "containers[0].env[0].name", id=f"env-name-{name}")
            for name in ("", "A=B", "é", "A\tB")
        ),
        pytest.param(
            env(value="x", valueFrom=NODE_IP), "invalid-env", "containers[0].env[0].valueFrom", id="env-both"
        ),
        pytest.param(
            env(valueFrom={"secretKeyRef": None}),
            "invalid-env",
            "containers[0].env[0].valueFrom",
            id="env-from-nothing",
        ),
        pytest.param(
            env(valueFrom={**NODE_IP, "secretKeyRef": KEY}),
            "invalid-env",
            "containers[0].env[0].valueFrom",
            id="env-from-two",
        ),
        pytest.param(
            mount(name="w"), "invalid-mount", "containers[0].volumeMounts[0].name", id="mount-of-nothing"
        ),
        pytest.param(
            mount(mountPath=""),
            "invalid-mount",
            "containers[0].volumeMounts[0].mountPath",
            id="mount-nowhere",
        ),
        pytest.param(
            {
                **container(),
                "initContainers": [
                    {"name": "i", "image": "i", "volumeMounts": [{"name": "w", "mountPath": "/w"}]}
                ],
            },
            "invalid-mount",
            "initContainers[0].volumeMounts[0].name",
            id="mount-in-an-init-container",
        ),
        pytest.param({"restartPolicy": "always"}, "unsupported-value", "restartPolicy", id="restart-policy"),
        pytest.param({"dnsPolicy": "default"}, "unsupported-value", "dnsPolicy", id="dns-policy"),
        pytest.param(
            container(imagePullPolicy="IfNotThere"),
            "unsupported-value",
            "containers[0].imagePullPolicy",
            id="pull-policy",
        ),
        pytest.param(
            toleration(key="a", operator="exists"),
            "unsupported-value",
            "tolerations[0].operator",
            id="operator",
        ),
        pytest.param(
            toleration(key="a", effect="noexecute"), "unsupported-value", "tolerations[0].effect", id="effect"
        ),
        pytest.param(
            toleration(effect="NoExecute"), "unsupported-value", "tolerations[0]", id="toleration-of-no-key"
        ),
        pytest.param(
            toleration(key="a", operator="Exists", value="b"),
            "unsupported-value",
            "tolerations[0].value",
            id="toleration-of-any-value",
        ),
    ],
)
@pytest.mark.parametrize("workload", ["Pod", "Deployment"])
@pytest.mark.parametrize("worker", ["cloud", "edge"])
def test_what_the_api_server_refuses_is_one_error(
    worker: str, workload: str, spec: dict[str, Any], rule: str, field: str, render: Render
) -> None:
    got = render(**{worker: spec}, annotations={"workload": workload})

    assert got.errors == [rule]
    assert got.finding(rule)["field"] == f"spec.{worker}Worker.template.spec.{field}"
    assert "restart-policy" not in got.rules


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param(
            {**ports({"containerPort": 1, "hostPort": 0, "protocol": ""}), "hostNetwork": False},
            id="a-host-port-of-0-is-none",
        ),
        pytest.param(ports({"containerPort": 65535, "name": "", "protocol": "SCTP"}), id="last-port"),
        pytest.param(ports({"containerPort": 80, "name": "8-a" + "0" * 12}), id="longest-name"),
        pytest.param(
            {
                "containers": [
                    {"name": name, "image": "i", "ports": [{"containerPort": port, "name": "http"}]}
                    for name, port in (("one", 80), ("two", 81))
                ]
            },
            id="one-name-in-two-containers",
        ),
        pytest.param(env(name="a.b-c d", value="x"), id="relaxed-name"),
        pytest.param(env(name="1A", value="x"), id="digit-first"),
        pytest.param(env(value="", valueFrom=NODE_IP), id="empty-value-and-source"),
        pytest.param(env(valueFrom={**NODE_IP, "secretKeyRef": None}), id="null-source"),
        pytest.param(mount(mountPath="relative"), id="relative-mount"),
        pytest.param({"restartPolicy": "", "dnsPolicy": ""}, id="empty-words"),
        pytest.param(container(imagePullPolicy=""), id="empty-pull-policy"),
        pytest.param(toleration(key="a", operator="Gt", value="5", effect=""), id="newer-operator"),
        pytest.param(toleration(operator="Exists", value=""), id="every-taint"),
    ],
)
@pytest.mark.parametrize("worker", ["cloud", "edge"])
def test_what_the_api_server_takes_is_no_error(worker: str, spec: dict[str, Any], render: Render) -> None:
    assert render(**{worker: spec}).errors == []


@pytest.mark.parametrize("url", ["/data/m/m.pb", "https://example.com/m/m.pb"])
def test_the_volume_of_the_model_may_be_mounted_elsewhere_too(url: str, render: Render) -> None:
    volumes = render(big=url).pod("cloud")["volumes"]
    spec = container(volumeMounts=[{"name": volumes[0]["name"], "mountPath": "/elsewhere"}])

    assert render(cloud=spec, big=url).errors == []


@pytest.mark.parametrize(
    ("word", "help_"),
    [("always", "did you mean Always?"), ("Sometimes", "write one of: Always, OnFailure, Never")],
)
def test_the_right_spelling_is_suggested(word: str, help_: str, render: Render) -> None:
    assert render(cloud={"restartPolicy": word}).finding("unsupported-value")["remedy"] == help_


@pytest.mark.parametrize(
    ("hpa", "field"),
    [
        pytest.param({"maxReplicas": 0}, "maxReplicas", id="none-at-most"),
        pytest.param({"maxReplicas": 3, "minReplicas": 0}, "minReplicas", id="none-at-least"),
        pytest.param(
            {"maxReplicas": 3, "minReplicas": -1, "metrics": [EXTERNAL]}, "minReplicas", id="less-than-none"
        ),
        pytest.param({"maxReplicas": 3, "minReplicas": 4}, "minReplicas", id="more-at-least-than-at-most"),
        pytest.param({"maxReplicas": 3, "minReplicas": 3}, "", id="the-same"),
        pytest.param({"maxReplicas": 1, "minReplicas": None}, "", id="null"),
        pytest.param(
            {"maxReplicas": 3, "minReplicas": 0, "metrics": [EXTERNAL]},
            "",
            id="none-by-a-metric-from-outside",
        ),
    ],
)
def test_the_numbers_of_an_autoscaler_are_looked_at_where_it_is_rendered(
    hpa: dict[str, Any], field: str, render: Render
) -> None:
    worker = {"model": {"name": "big"}, "hpa": hpa}
    template = {"spec": container()}

    as_deployment = render(
        cloud_worker={**worker, "template": template}, annotations={"workload": "Deployment"}
    )
    as_pod = render(cloud_worker={**worker, "template": template})

    assert as_deployment.errors == (["hpa-replicas"] if field else [])
    if field:
        assert as_deployment.finding("hpa-replicas")["field"] == f"spec.cloudWorker.hpa.{field}"
    assert as_pod.errors == []


@pytest.mark.parametrize(
    ("edge", "most", "warned"),
    [
        pytest.param({}, 2, True, id="bound-by-name"),
        pytest.param(
            {"nodeName": None, "nodeSelector": {"kubernetes.io/hostname": "e"}}, 2, True, id="bound-by-label"
        ),
        pytest.param({}, 1, False, id="one-pod"),
        pytest.param({"hostNetwork": False}, 2, False, id="off-the-nodes-network"),
        pytest.param({"nodeName": None, "nodeSelector": {"pool": "e"}}, 2, False, id="several-nodes"),
    ],
)
def test_several_pods_on_the_network_of_one_node_are_warned_about(
    edge: dict[str, Any], most: int, warned: bool, render: Render
) -> None:
    got = render(
        edge=edge, edge_worker={"hpa": {"maxReplicas": most}}, annotations={"workload": "Deployment"}
    )

    assert got.errors == []
    assert ("hpa-with-host-network" in got.rules) == warned


@pytest.mark.parametrize(
    ("metadata", "field"),
    [
        pytest.param({"labels": {"a b": "c"}}, 'labels["a b"]', id="label-key"),
        pytest.param({"labels": {"Example.com/a": "c"}}, 'labels["Example.com/a"]', id="label-prefix"),
        pytest.param({"labels": {"a": "b c"}}, "labels.a", id="label-value"),
        pytest.param({"annotations": {"a b": "c"}}, 'annotations["a b"]', id="annotation-key"),
        pytest.param({"finalizers": ["keep"]}, "finalizers[0]", id="finalizer-without-a-domain"),
        pytest.param({"finalizers": ["a.b/c", ""]}, "finalizers[1]", id="empty-finalizer"),
        pytest.param({"labels": {"example.com/A_b.c": ""}}, "", id="fine-label"),
        pytest.param({"annotations": {"Example.com/A": "b c"}}, "", id="fine-annotation"),
        pytest.param({"finalizers": ["orphan", "example.com/a"]}, "", id="fine-finalizers"),
    ],
)
@pytest.mark.parametrize("workload", ["Pod", "Deployment"])
def test_names_in_the_metadata_of_a_template_are_looked_at(
    workload: str, metadata: dict[str, Any], field: str, render: Render
) -> None:
    got = render(
        cloud_worker={"template": {"metadata": metadata, "spec": container()}},
        annotations={"workload": workload},
    )

    assert got.errors == (["invalid-name"] if field else [])
    if field:
        assert got.finding("invalid-name")["field"] == f"spec.cloudWorker.template.metadata.{field}"


@pytest.mark.parametrize(
    ("spec", "rule"),
    [
        pytest.param(container(image=5), "wrong-type", id="image"),
        pytest.param({"containers": [{"image": "a"}]}, "missing-field", id="name"),
        pytest.param({"containers": [5]}, "wrong-type", id="container"),
        pytest.param({"containers": [None]}, "wrong-type", id="null"),
        pytest.param(
            {**mount(), "volumes": [{"name": "v", "hostPath": {}}]},
            "missing-field",
            id="volume-without-a-path",
        ),
    ],
)
def test_what_is_wrong_with_a_container_is_told_once(spec: dict[str, Any], rule: str, render: Render) -> None:
    assert render(cloud=spec).errors == [rule]

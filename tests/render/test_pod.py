"""The edge worker on its node's network, tolerations, and what makes a worker's pod impossible."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Render = Callable[..., Any]

ADDRESS = {"cloudAddress": "192.0.2.1"}
NOT_READY = {"key": "node.kubernetes.io/not-ready", "operator": "Exists", "effect": "NoExecute"}
UNREACHABLE = {"key": "node.kubernetes.io/unreachable", "operator": "Exists", "effect": "NoExecute"}
EDGE = {"key": "node-role.kubernetes.io/edge", "operator": "Exists", "effect": "NoSchedule"}
FLEETING = {**NOT_READY, "tolerationSeconds": 300}
ALL_OF_EFFECT = {"operator": "Exists", "effect": "NoExecute"}
EVERYTHING = {"operator": "Exists"}


def container(name: str = "main", **fields: Any) -> dict[str, Any]:
    return {"name": name, "image": "example.com/main:1", **fields}


@pytest.mark.parametrize("workload", ["Pod", "Deployment"])
@pytest.mark.parametrize("expose", ["NodePort", "EdgeMesh", "External"])
def test_the_edge_worker_is_on_its_nodes_network_and_the_cloud_worker_is_not(
    workload: str, expose: str, render: Render
) -> None:
    got = render(annotations={"workload": workload, "expose": expose, "big-model-address": "big.example.com"})

    assert got.pod("edge")["hostNetwork"] is True
    assert got.pod("edge")["dnsPolicy"] == "ClusterFirstWithHostNet"
    assert not {"hostNetwork", "dnsPolicy"} & got.pod("cloud").keys()


@pytest.mark.parametrize(
    ("edge", "expected", "warned"),
    [
        pytest.param({}, (True, "ClusterFirstWithHostNet"), False, id="nothing-said"),
        pytest.param({"hostNetwork": True}, (True, "ClusterFirstWithHostNet"), False, id="true"),
        pytest.param({"hostNetwork": None}, (True, "ClusterFirstWithHostNet"), False, id="null"),
        pytest.param({"dnsPolicy": "Default"}, (True, "Default"), False, id="dns-policy"),
        pytest.param({"hostNetwork": False}, (False, None), True, id="false"),
        pytest.param(
            {"hostNetwork": False, "dnsPolicy": "None"}, (False, "None"), True, id="false-and-dns-policy"
        ),
    ],
)
def test_the_users_own_word_about_the_network_stays(
    edge: dict[str, Any], expected: tuple[Any, Any], warned: bool, render: Render
) -> None:
    got = render(edge=edge)

    assert (got.pod("edge").get("hostNetwork"), got.pod("edge").get("dnsPolicy")) == expected
    assert ("host-network-off" in got.rules) == warned


@pytest.mark.parametrize(
    ("autonomy", "own", "expected"),
    [
        pytest.param(False, None, None, id="off"),
        pytest.param(False, [EDGE], [EDGE], id="off-and-a-list"),
        pytest.param(False, [NOT_READY], [NOT_READY], id="off-and-half-of-it"),
        pytest.param(True, None, [NOT_READY, UNREACHABLE], id="on"),
        pytest.param(True, [], [NOT_READY, UNREACHABLE], id="on-and-empty-list"),
        pytest.param(True, [EDGE], [EDGE, NOT_READY, UNREACHABLE], id="on-extends"),
        pytest.param(True, [UNREACHABLE, EDGE], [UNREACHABLE, EDGE, NOT_READY], id="on-and-half-of-it"),
        pytest.param(
            True, [FLEETING], [FLEETING, NOT_READY, UNREACHABLE], id="for-some-seconds-is-not-enough"
        ),
        pytest.param(True, [ALL_OF_EFFECT], [ALL_OF_EFFECT], id="covered-by-effect"),
        pytest.param(True, [EVERYTHING], [EVERYTHING], id="covered-by-everything"),
        pytest.param(
            True,
            [{"key": NOT_READY["key"], "value": "x", "effect": "NoExecute"}],
            [{"key": NOT_READY["key"], "value": "x", "effect": "NoExecute"}, NOT_READY, UNREACHABLE],
            id="another-value-does-not-cover",
        ),
    ],
)
def test_tolerations_are_the_users_unless_edge_autonomy_is_asked_for(
    autonomy: bool, own: Any, expected: Any, render: Render
) -> None:
    spec = {} if own is None else {"tolerations": own}
    got = render(edge=spec, cloud=spec, config={**ADDRESS, "edgeAutonomy": autonomy})

    assert got.pod("edge").get("tolerations") == expected
    assert got.pod("cloud").get("tolerations") == own


@pytest.mark.parametrize(
    ("edge", "rule", "field"),
    [
        pytest.param({"hostUsers": False}, "host-network", "hostUsers", id="user-namespace"),
        pytest.param({"hostnameOverride": "x"}, "host-network", "hostnameOverride", id="host-name"),
        pytest.param(
            {
                "securityContext": {
                    "sysctls": [
                        {"name": "kernel.shm_rmid_forced", "value": "1"},
                        {"name": "net.ipv4.ip_forward", "value": "1"},
                    ]
                }
            },
            "host-network",
            "securityContext.sysctls[1].name",
            id="sysctl",
        ),
        pytest.param(
            {"securityContext": {"sysctls": [{"name": "net/ipv4/ip_forward", "value": "1"}]}},
            "host-network",
            "securityContext.sysctls[0].name",
            id="sysctl-with-slashes",
        ),
        pytest.param(
            {"containers": [container(ports=[{"containerPort": 80, "hostPort": 81}])]},
            "host-port-mismatch",
            "containers[0].ports[0].hostPort",
            id="another-host-port",
        ),
        pytest.param(
            {
                "containers": [
                    container(ports=[{"containerPort": 80}]),
                    container("two", ports=[{"containerPort": 80}]),
                ]
            },
            "host-port-clash",
            "containers[1].ports[0].containerPort",
            id="one-port-twice",
        ),
        pytest.param(
            {
                "initContainers": [container("side", restartPolicy="Always", ports=[{"containerPort": 80}])],
                "containers": [container(ports=[{"containerPort": 80}])],
            },
            "host-port-clash",
            "containers[0].ports[0].containerPort",
            id="a-sidecars-port",
        ),
    ],
)
@pytest.mark.parametrize("workload", ["Pod", "Deployment"])
def test_what_a_pod_on_its_nodes_network_cannot_have_is_an_error_there_only(
    workload: str, edge: dict[str, Any], rule: str, field: str, render: Render
) -> None:
    annotations = {"workload": workload}

    got = render(annotations=annotations, edge=edge)

    assert got.errors == [rule]
    assert got.finding(rule)["field"] == f"spec.edgeWorker.template.spec.{field}"
    assert render(annotations=annotations, edge={**edge, "hostNetwork": False}).errors == []
    assert render(annotations=annotations, cloud=edge).errors == []
    assert render(annotations=annotations, cloud={**edge, "hostNetwork": True}).errors == [rule]


@pytest.mark.parametrize(
    "ports",
    [
        pytest.param([{"containerPort": 80, "hostPort": 80}], id="the-same-host-port"),
        pytest.param([{"containerPort": 80, "hostPort": 0}], id="host-port-of-zero"),
        pytest.param(
            [{"containerPort": 53, "protocol": "TCP"}, {"containerPort": 53, "protocol": "UDP"}],
            id="protocols",
        ),
        pytest.param(
            [{"containerPort": 80, "hostIP": "127.0.0.1"}, {"containerPort": 80, "hostIP": "192.0.2.1"}],
            id="addresses",
        ),
    ],
)
def test_ports_that_do_not_clash_are_fine(ports: list[dict[str, Any]], render: Render) -> None:
    assert render(edge={"containers": [container(ports=ports)]}).errors == []


def test_an_init_container_that_ends_may_use_the_port_of_one_that_stays(render: Render) -> None:
    edge = {
        "initContainers": [container("once", ports=[{"containerPort": 80}])],
        "containers": [container(ports=[{"containerPort": 80}])],
    }

    assert render(edge=edge).errors == []


def test_two_containers_that_ask_for_one_host_port_clash_without_host_network_too(render: Render) -> None:
    ports = [{"containerPort": 80, "hostPort": 8080}]
    cloud = {
        "containers": [
            container(ports=ports),
            container("two", ports=[{"containerPort": 81, "hostPort": 8080}]),
        ]
    }

    assert render(cloud=cloud).errors == ["host-port-clash"]


@pytest.mark.parametrize(
    ("spec", "pod", "deployment"),
    [
        pytest.param({"restartPolicy": "Always"}, set(), [], id="always"),
        pytest.param({"restartPolicy": "Never"}, {"restart-policy"}, ["restart-policy"], id="never"),
        pytest.param({"restartPolicy": "OnFailure"}, {"restart-policy"}, ["restart-policy"], id="on-failure"),
        pytest.param({"activeDeadlineSeconds": 5}, set(), ["active-deadline"], id="deadline"),
    ],
)
def test_what_a_deployment_refuses_is_an_error_there(
    spec: dict[str, Any], pod: set[str], deployment: list[str], render: Render
) -> None:
    as_pod = render(cloud=spec)
    as_deployment = render(cloud=spec, annotations={"workload": "Deployment"})

    assert as_pod.status == 0
    assert pod <= as_pod.rules
    assert as_pod.pod("cloud").items() >= spec.items()
    assert as_deployment.errors == deployment


@pytest.mark.parametrize("workload", ["Pod", "Deployment"])
def test_ephemeral_containers_are_always_an_error(workload: str, render: Render) -> None:
    spec = {"ephemeralContainers": [container("debug")]}

    assert render(annotations={"workload": workload}, edge=spec).errors == ["ephemeral-containers"]


@pytest.mark.parametrize(
    ("spec", "rule"),
    [
        pytest.param({"containers": []}, "no-containers", id="no-container"),
        pytest.param({"containers": [container(), container()]}, "duplicate-container", id="duplicate"),
        pytest.param({"initContainers": [container()]}, "duplicate-container", id="init-and-container"),
        pytest.param({"containers": [container("Main")]}, "invalid-name", id="name"),
        pytest.param({"containers": [{"name": "main"}]}, "image-missing", id="no-image"),
        pytest.param({"volumes": [{"name": "a", "emptyDir": {}}] * 2}, "duplicate-volume", id="volume-twice"),
        pytest.param({"volumes": [{"name": "A", "emptyDir": {}}]}, "invalid-name", id="volume-name"),
        pytest.param(
            {
                "volumes": [{"name": "a", "emptyDir": {}}],
                "containers": [container(volumeMounts=[{"name": "a", "mountPath": "/a"}] * 2)],
            },
            "mount-path-clash",
            id="mount-twice",
        ),
    ],
)
@pytest.mark.parametrize("worker", ["cloud", "edge"])
def test_an_impossible_pod_is_found_in_either_worker(
    worker: str, spec: dict[str, Any], rule: str, render: Render
) -> None:
    got = render(**{worker: spec})

    assert got.errors == [rule]
    assert got.finding(rule)["field"].startswith(f"spec.{worker}Worker.template.spec")


def test_errors_of_both_workers_and_the_model_are_told_in_one_run(render: Render) -> None:
    got = render(
        cloud={"containers": []}, edge={"containers": [container("Main")]}, big="relative/path", config={}
    )

    assert {"no-containers", "invalid-name", "model-url-relative", "no-cloud-address"} <= set(got.errors)


@pytest.mark.parametrize("template", [{}, {"spec": None}, {"spec": {}}, {"spec": {"containers": None}}])
@pytest.mark.parametrize("worker", ["cloud", "edge"])
def test_an_empty_template_has_no_container(worker: str, template: dict[str, Any], render: Render) -> None:
    for url in ("/data/m/m.pb", "https://example.com/m.pb", "pvc://claim/m.pb"):
        got = render(**{f"{worker}_worker": {"template": template}}, big=url, little=url)

        assert set(got.errors) <= {"no-containers", "missing-field"}
        assert got.status == 2


@pytest.mark.parametrize(
    "empty",
    [
        pytest.param(
            {
                "affinity": {
                    "podAffinity": {
                        "requiredDuringSchedulingIgnoredDuringExecution": [
                            {"labelSelector": {}, "topologyKey": "a"}
                        ]
                    }
                }
            },
            id="selector",
        ),
        pytest.param({"securityContext": {}}, id="security-context"),
        pytest.param({"nodeSelector": {}}, id="node-selector"),
        pytest.param({"imagePullSecrets": []}, id="list"),
        pytest.param({"volumes": [{"name": "x", "emptyDir": {}}]}, id="emptyDir"),
    ],
)
def test_empty_values_stay(empty: dict[str, Any], render: Render) -> None:
    got = render(cloud=empty, big="https://example.com/big.pb")

    [(name, value)] = empty.items()
    given = got.pod("cloud")[name]
    assert (given[:1] if name == "volumes" else given) == value


def test_null_fields_and_empty_resources_are_left_out(render: Render) -> None:
    spec = {
        "containers": [container(resources={}, livenessProbe=None, env=None)],
        "tolerations": None,
        "securityContext": {"runAsUser": None},
    }

    pod = render(cloud=spec).pod("cloud")

    assert not {"resources", "livenessProbe"} & pod["containers"][0].keys()
    assert "tolerations" not in pod
    assert pod["securityContext"] == {}

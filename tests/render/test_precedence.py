"""Which setting wins: flags before annotations before the configuration before the defaults."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

Render = Callable[..., Any]

ADDRESS = {"cloudAddress": "192.0.2.1"}


def workload_kind(got: Any) -> str:
    return next(kind for kind in ("Pod", "Deployment") if got.of_kind(kind))


@pytest.mark.parametrize(
    ("flag", "annotation", "config", "expected"),
    [
        pytest.param(None, None, None, "Pod", id="default"),
        pytest.param(None, None, "Deployment", "Deployment", id="config"),
        pytest.param(None, "Deployment", None, "Deployment", id="annotation"),
        pytest.param(None, "Pod", "Deployment", "Pod", id="annotation-before-config"),
        pytest.param("Deployment", None, None, "Deployment", id="flag"),
        pytest.param("Deployment", "Pod", "Pod", "Deployment", id="flag-before-annotation-and-config"),
        pytest.param("Pod", "Deployment", None, "Pod", id="flag-that-says-the-default"),
    ],
)
def test_workload_precedence(
    flag: str | None, annotation: str | None, config: str | None, expected: str, render: Render
) -> None:
    got = render(
        annotations={"workload": annotation} if annotation else {},
        config={**ADDRESS, **({"workload": config} if config else {})},
        args=("--workload", flag) if flag else (),
    )

    assert workload_kind(got) == expected


@pytest.mark.parametrize(
    ("flag", "annotation", "config", "expected"),
    [
        pytest.param(None, None, None, "192.0.2.1", id="default"),
        pytest.param(None, None, "EdgeMesh", "helmet-cloud.default", id="config"),
        pytest.param(None, "External", "EdgeMesh", "big.example.com", id="annotation-before-config"),
        pytest.param("NodePort", "External", "EdgeMesh", "192.0.2.1", id="flag-before-both"),
        pytest.param("External", "NodePort", None, "big.example.com", id="flag-before-annotation"),
    ],
)
def test_expose_precedence(
    flag: str | None, annotation: str | None, config: str | None, expected: str, render: Render
) -> None:
    annotations = {"big-model-address": "big.example.com", **({"expose": annotation} if annotation else {})}
    got = render(
        annotations=annotations,
        config={**ADDRESS, **({"expose": config} if config else {})},
        args=("--expose", flag) if flag else (),
    )

    assert got.env("edge")["BIG_MODEL_IP"] == expected


@pytest.mark.parametrize(
    ("metadata", "flag", "config", "expected"),
    [
        pytest.param(None, None, None, "default", id="default"),
        pytest.param(None, None, "site-a", "site-a", id="config"),
        pytest.param(None, "site-b", "site-a", "site-b", id="flag-before-config"),
        pytest.param("own", "site-b", "site-a", "own", id="the-object's-own-always"),
    ],
)
def test_every_object_has_a_namespace(
    metadata: str | None, flag: str | None, config: str | None, expected: str, render: Render
) -> None:
    got = render(
        namespace=metadata,
        config={**ADDRESS, **({"namespace": config} if config else {})},
        args=("--namespace", flag) if flag else (),
    )

    assert {manifest["metadata"]["namespace"] for manifest in got.manifests} == {expected}
    assert got.env("cloud")["NAMESPACE"] == got.env("edge")["NAMESPACE"] == expected


def test_a_namespace_flag_that_is_none_is_refused(render: Render) -> None:
    got = render(args=("--namespace", "Not_A_Namespace"))

    assert got.status == 2
    assert "invalid-name" in got.errors


@pytest.mark.parametrize(
    ("expose", "reached"),
    [
        pytest.param("NodePort", None, id="NodePort"),
        pytest.param("EdgeMesh", "7000", id="EdgeMesh"),
        pytest.param("External", "7000", id="External"),
    ],
)
def test_the_big_models_port_is_followed_everywhere(expose: str, reached: str | None, render: Render) -> None:
    got = render(
        annotations={"big-model-port": "7000", "expose": expose, "big-model-address": "big.example.com"}
    )

    port = got.of_kind("Service")[0]["spec"]["ports"][0]
    assert (port["port"], port["targetPort"]) == (7000, 7000)
    assert got.env("cloud")["BIG_MODEL_BIND_PORT"] == "7000"
    assert got.env("edge")["BIG_MODEL_PORT"] == (reached or str(port["nodePort"]))


def test_an_external_port_of_its_own_leaves_the_big_models_alone(render: Render) -> None:
    got = render(
        annotations={
            "expose": "External",
            "big-model-address": "big.example.com:443",
            "big-model-port": "7000",
        }
    )

    assert got.env("edge")["BIG_MODEL_PORT"] == "443"
    assert got.env("cloud")["BIG_MODEL_BIND_PORT"] == "7000"


@pytest.mark.parametrize("port", ["0", "65536", "-1", "5000.0", "", "0x1388", "５０００", "5" * 5000])
def test_a_big_model_port_that_is_none_is_refused(port: str, render: Render) -> None:
    assert render(annotations={"big-model-port": port}).errors == ["invalid-annotation"]


@pytest.mark.parametrize(
    ("annotation", "lock", "number"),
    [
        pytest.param(None, "", 30008, id="chosen-by-hash"),
        pytest.param(None, "default/helmet 30042\n", 30042, id="recorded"),
        pytest.param("30043", "default/helmet 30042\n", 30043, id="annotation-before-recorded"),
        pytest.param("32000", "", 32000, id="annotation"),
        pytest.param(None, "default/other 30008\n", 30009, id="a-recorded-number-is-taken"),
    ],
)
def test_node_port_precedence(annotation: str | None, lock: str, number: int, render: Render) -> None:
    got = render(annotations={"node-port": annotation} if annotation else {}, lock=lock)

    assert got.of_kind("Service")[0]["spec"]["ports"][0]["nodePort"] == number
    assert got.env("edge")["BIG_MODEL_PORT"] == str(number)
    assert ("nodeport-unrecorded" in got.rules) == (annotation is None and "helmet" not in lock)


def test_the_number_of_an_annotation_outside_the_band_is_warned_of(render: Render) -> None:
    assert "nodeport-dynamic-band" in render(annotations={"node-port": "32000"}).rules
    assert "nodeport-dynamic-band" not in render(annotations={"node-port": "30000"}).rules


@pytest.mark.parametrize("number", ["29999", "32768", "80"])
def test_a_node_port_outside_the_clusters_range_is_refused(number: str, render: Render) -> None:
    assert render(annotations={"node-port": number}).errors == ["nodeport-range"]


def test_the_range_is_the_configurations(render: Render) -> None:
    got = render(config={**ADDRESS, "nodePortRange": "31000-31999"})

    assert 31000 <= got.of_kind("Service")[0]["spec"]["ports"][0]["nodePort"] < 31032


def test_two_services_on_one_number_are_both_named(run: Render, make: Any) -> None:
    services = [make.service(name, annotations={"node-port": "30001"}) for name in ("alpha", "beta")]

    got = run(*services, *make.models(), config=ADDRESS)

    assert set(got.errors) == {"nodeport-clash"}
    assert "alpha" in got.stderr
    assert "beta" in got.stderr


def test_only_node_ports_are_numbered(render: Render) -> None:
    got = render(annotations={"expose": "EdgeMesh"}, lock="default/helmet 30042\n")

    assert "nodePort" not in got.of_kind("Service")[0]["spec"]["ports"][0]
    assert "nodeport-unrecorded" not in got.rules


def test_lc_server_and_the_initializers_image_are_the_configurations(render: Render) -> None:
    config = {
        **ADDRESS,
        "lcServer": "http://lc.example.com:9100",
        "storageInitializerImage": "example.com/init:2",
    }
    got = render(config=config, big="https://example.com/big.pb")

    assert got.env("edge")["LC_SERVER"] == "http://lc.example.com:9100"
    assert got.pod("cloud")["initContainers"][0]["image"] == "example.com/init:2"


@pytest.mark.parametrize(
    ("annotations", "named"),
    [
        pytest.param({"expose": "edgemesh"}, "did you mean EdgeMesh?", id="case"),
        pytest.param({"expose": "LoadBalancer"}, "write one of: NodePort, EdgeMesh, External", id="value"),
        pytest.param({"workload": "StatefulSet"}, "write one of: Pod, Deployment", id="workload"),
    ],
)
def test_an_annotation_with_an_unknown_value_is_refused(
    annotations: dict[str, str], named: str, render: Render
) -> None:
    got = render(annotations=annotations)

    assert got.errors == ["invalid-annotation"]
    assert named in got.finding("invalid-annotation")["remedy"]


def test_a_configuration_is_found_upward_as_far_as_git(tmp_path: Path, run: Render, make: Any) -> None:
    (tmp_path.parent / "sedna-render.yaml").write_text("not even a configuration")
    try:
        got = run(make.service(annotations={"cloud-address": "192.0.2.1"}), *make.models())
    finally:
        (tmp_path.parent / "sedna-render.yaml").unlink()

    assert got.status == 0

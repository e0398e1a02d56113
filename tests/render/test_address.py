"""How the edge worker reaches the big model: which source of the address wins, and what no source leads to."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

Render = Callable[..., Any]

HOSTNAME = "kubernetes.io/hostname"
EDGE_ROLE = "node-role.kubernetes.io/edge"
WAYS = ("render.sedna.io/cloud-address", "cloudAddress", "nodeAddresses", "Node among the inputs", "EdgeMesh")

ANNOTATION = {"cloud-address": "192.0.2.1"}
NODE_ADDRESSES = {"nodeAddresses": {"cloud-1": "192.0.2.2", "other": "192.0.2.99"}}
CLOUD_ADDRESS = {"cloudAddress": "192.0.2.3"}
BY_HOSTNAME = {"nodeName": None, "nodeSelector": {HOSTNAME: "cloud-1"}}


def cloud_node(make: Any) -> dict[str, Any]:
    node: dict[str, Any] = make.node("cloud-1", "InternalIP=192.0.2.4", labels={HOSTNAME: "cloud-1"})
    return node


@pytest.mark.parametrize(
    ("given", "address"),
    [
        pytest.param({"annotation", "node addresses", "cloud address", "node"}, "192.0.2.1", id="annotation"),
        pytest.param({"node addresses", "cloud address", "node"}, "192.0.2.2", id="nodeAddresses"),
        pytest.param({"cloud address", "node"}, "192.0.2.3", id="cloudAddress"),
        pytest.param({"node"}, "192.0.2.4", id="Node"),
    ],
)
@pytest.mark.parametrize(
    "cloud", [pytest.param({}, id="nodeName"), pytest.param(BY_HOSTNAME, id="hostname-selector")]
)
def test_the_most_explicit_source_of_the_address_wins(
    given: set[str], address: str, cloud: dict[str, Any], render: Render, make: Any
) -> None:
    got = render(
        cloud=cloud,
        annotations=ANNOTATION if "annotation" in given else {},
        config={
            **(NODE_ADDRESSES if "node addresses" in given else {}),
            **(CLOUD_ADDRESS if "cloud address" in given else {}),
        },
        objects=[cloud_node(make)] if "node" in given else [],
    )

    assert got.env("edge")["BIG_MODEL_IP"] == address
    assert "cloud-not-pinned" not in got.rules


def test_an_address_of_another_node_is_not_taken(render: Render, make: Any) -> None:
    got = render(
        config={"nodeAddresses": {"other": "192.0.2.99"}},
        objects=[make.node("other", "InternalIP=192.0.2.98")],
    )

    assert got.status == 2
    assert got.errors == ["no-cloud-address"]


@pytest.mark.parametrize(
    ("addresses", "expected"),
    [
        pytest.param(
            ["InternalIP=192.0.2.1", "ExternalIP=192.0.2.2"], "192.0.2.2", id="external-before-internal"
        ),
        pytest.param(["InternalIP=2001:db8::1", "InternalIP=192.0.2.1"], "192.0.2.1", id="ipv4-before-ipv6"),
        pytest.param(
            ["ExternalIP=2001:db8::1", "InternalIP=192.0.2.1"], "[2001:db8::1]", id="kind-before-family"
        ),
        pytest.param(["InternalIP=192.0.2.7", "InternalIP=192.0.2.1"], "192.0.2.7", id="then-the-first"),
        pytest.param(
            ["Hostname=cloud-1", "InternalDNS=a.example.com", "InternalIP=192.0.2.1"],
            "192.0.2.1",
            id="names-do-not-count",
        ),
    ],
)
def test_a_node_gives_its_best_address(
    addresses: list[str], expected: str, render: Render, make: Any
) -> None:
    got = render(config={}, objects=[make.node("cloud-1", *addresses)])

    assert got.env("edge")["BIG_MODEL_IP"] == expected


def test_a_node_without_an_ip_is_told_apart_from_one_that_is_not_there(render: Render, make: Any) -> None:
    without_ip = render(config={}, objects=[make.node("cloud-1", "Hostname=cloud-1")])
    absent = render(config={}, cloud={"nodeName": "cloud-2"})

    assert "Node cloud-1 has no ExternalIP" in without_ip.finding("no-cloud-address")["message"]
    assert 'no address is known for node "cloud-2"' in absent.finding("no-cloud-address")["message"]


@pytest.mark.parametrize(
    "cloud",
    [
        pytest.param({}, id="pinned"),
        pytest.param({"nodeName": None}, id="anywhere"),
        pytest.param({"nodeName": None, "nodeSelector": {"pool": "none"}}, id="no-node-matches"),
    ],
)
def test_without_any_address_all_ways_to_give_one_are_listed(
    cloud: dict[str, Any], render: Render, make: Any
) -> None:
    got = render(
        cloud=cloud, config={}, objects=[make.node("far", "InternalIP=192.0.2.9", labels={"pool": "a"})]
    )

    assert got.errors == ["no-cloud-address"]
    for way in WAYS:
        assert way in got.finding("no-cloud-address")["remedy"]


def term(*expressions: dict[str, Any], **more: Any) -> dict[str, Any]:
    return {"matchExpressions": list(expressions), **more} if expressions else more


def expression(key: str, operator: str, *values: str) -> dict[str, Any]:
    return {"key": key, "operator": operator, **({"values": list(values)} if values else {})}


def affinity(*terms: dict[str, Any]) -> dict[str, Any]:
    required = {"nodeSelectorTerms": list(terms)}
    return {"affinity": {"nodeAffinity": {"requiredDuringSchedulingIgnoredDuringExecution": required}}}


# Sorted by name, so that the first that matches is seen from the address alone: a is .1, b is .2, and so on.
NODES: dict[str, Mapping[str, str]] = {
    "a": {"pool": "small", "memory": "8"},
    "b": {"pool": "large", "memory": "64"},
    "c": {"gpu": "", "memory": "16", "pool": "medium"},
    "d": {"memory": "many"},
}


@pytest.mark.parametrize(
    ("cloud", "last"),
    [
        pytest.param({"nodeSelector": {"pool": "large"}}, 2, id="selector"),
        pytest.param({"nodeSelector": {"memory": "16", "gpu": ""}}, 3, id="selector-with-two-labels"),
        pytest.param(affinity(term(expression("pool", "In", "large", "medium"))), 2, id="In"),
        pytest.param(affinity(term(expression("pool", "NotIn", "small", "large"))), 3, id="NotIn"),
        pytest.param(
            affinity(term(expression("pool", "NotIn", "small", "large", "medium"))),
            4,
            id="NotIn-without-the-label",
        ),
        pytest.param(affinity(term(expression("gpu", "Exists"))), 3, id="Exists"),
        pytest.param(affinity(term(expression("pool", "DoesNotExist"))), 4, id="DoesNotExist"),
        pytest.param(affinity(term(expression("memory", "Gt", "8"))), 2, id="Gt"),
        pytest.param(
            affinity(term(expression("memory", "Lt", "64"), expression("memory", "Gt", "8"))),
            3,
            id="Lt-and-Gt",
        ),
        pytest.param(affinity(term(expression("memory", "Gt", "+0008"))), 2, id="Gt-sign-and-zeros"),
        pytest.param(affinity(term(expression("memory", "Gt", "-9223372036854775808"))), 1, id="Gt-least"),
        pytest.param(
            affinity(term(expression("pool", "In", "none")), term(expression("gpu", "Exists"))),
            3,
            id="terms-are-or",
        ),
        pytest.param(
            affinity(term(expression("gpu", "Exists"), expression("pool", "In", "medium"))),
            3,
            id="expressions-are-and",
        ),
        pytest.param(
            affinity(term(matchFields=[expression("metadata.name", "In", "d")])), 4, id="matchFields"
        ),
        pytest.param(
            {"nodeSelector": {"memory": "64"}, **affinity(term(expression("pool", "Exists")))},
            2,
            id="selector-and-affinity",
        ),
    ],
)
def test_the_first_matching_node_by_name_gives_the_address(
    cloud: dict[str, Any], last: int, render: Render, make: Any
) -> None:
    nodes = [
        make.node(name, f"InternalIP=192.0.2.{i}", labels=labels)
        for i, (name, labels) in enumerate(NODES.items(), 1)
    ]

    got = render(cloud={"nodeName": None, **cloud}, config={}, objects=nodes[::-1])

    assert got.env("edge")["BIG_MODEL_IP"] == f"192.0.2.{last}"
    assert "cloudAddress" in got.finding("cloud-not-pinned")["remedy"]


@pytest.mark.parametrize(
    "cloud",
    [
        pytest.param(affinity(term(expression("memory", "Gt", "1000"))), id="Gt-none"),
        pytest.param(affinity(term(expression("pool", "Gt", "1"))), id="Gt-of-text"),
        pytest.param(affinity(term(expression("memory", "Gt", "1_0"))), id="Gt-of-an-underscore"),
        pytest.param(affinity(term(expression("memory", "Gt", " 8"))), id="Gt-of-a-blank"),
        pytest.param(affinity(term(expression("memory", "Lt", "٩٩"))), id="Lt-of-other-digits"),
        pytest.param(affinity(term(expression("memory", "Lt", "9223372036854775808"))), id="Lt-over-64-bits"),
        pytest.param(affinity({}), id="an-empty-term-matches-nothing"),
        pytest.param(
            affinity(term(expression("gpu", "Exists"), expression("gpu", "DoesNotExist"))), id="contradiction"
        ),
    ],
)
def test_no_matching_node_is_an_error(cloud: dict[str, Any], render: Render, make: Any) -> None:
    nodes = [
        make.node(name, f"InternalIP=192.0.2.{i}", labels=labels)
        for i, (name, labels) in enumerate(NODES.items(), 1)
    ]

    got = render(cloud={"nodeName": None, **cloud}, config={}, objects=nodes)

    assert got.errors == ["no-cloud-address"]


def test_a_preference_is_no_constraint(render: Render, make: Any) -> None:
    preferred = [{"weight": 1, "preference": term(expression("pool", "Exists"))}]
    cloud = {
        "nodeName": None,
        "affinity": {"nodeAffinity": {"preferredDuringSchedulingIgnoredDuringExecution": preferred}},
    }

    got = render(
        cloud=cloud, config={}, objects=[make.node("a", "InternalIP=192.0.2.1", labels={"pool": "x"})]
    )

    assert got.errors == ["no-cloud-address"]


def test_nodes_that_take_no_pod_are_left_out(render: Render, make: Any) -> None:
    pool = {"pool": "large"}
    nodes = [
        make.node("a", "InternalIP=192.0.2.1", labels=pool, unschedulable=True),
        make.node("b", "InternalIP=192.0.2.2", labels={**pool, EDGE_ROLE: ""}),
        make.node("c", "Hostname=c", labels=pool),
        make.node("d", "InternalIP=192.0.2.4", labels=pool),
    ]

    got = render(cloud={"nodeName": None, "nodeSelector": pool}, config={}, objects=nodes)

    assert got.env("edge")["BIG_MODEL_IP"] == "192.0.2.4"


@pytest.mark.parametrize(
    "given",
    [
        pytest.param({"annotations": {"cloud-address": "2001:db8::5"}, "config": {}}, id="annotation"),
        pytest.param({"config": {"cloudAddress": "2001:db8::5"}}, id="config"),
        pytest.param({"config": {"nodeAddresses": {"cloud-1": "2001:db8::5"}}}, id="node-addresses"),
        pytest.param(
            {
                "annotations": {"expose": "External", "big-model-address": "[2001:db8::5]:80"},
                "config": {},
            },
            id="external",
        ),
    ],
)
def test_an_ipv6_address_is_bracketed_and_listened_on(given: dict[str, Any], render: Render) -> None:
    got = render(**given)

    assert got.env("edge")["BIG_MODEL_IP"] == "[2001:db8::5]"
    assert got.env("cloud")["BIG_MODEL_BIND_IP"] == "::"
    assert "ipv6-address" in got.rules


def test_an_ipv4_address_is_listened_on_everywhere(render: Render) -> None:
    got = render()

    assert got.env("cloud")["BIG_MODEL_BIND_IP"] == "0.0.0.0"  # noqa: S104
    assert "ipv6-address" not in got.rules


@pytest.mark.parametrize(
    ("value", "host", "port"),
    [
        pytest.param("big.example.com", "big.example.com", "5000", id="host"),
        pytest.param("big.example.com:8443", "big.example.com", "8443", id="host-and-port"),
        pytest.param("203.0.113.7", "203.0.113.7", "5000", id="ipv4"),
        pytest.param("203.0.113.7:80", "203.0.113.7", "80", id="ipv4-and-port"),
        pytest.param("2001:db8::1", "[2001:db8::1]", "5000", id="ipv6"),
        pytest.param("[2001:db8::1]", "[2001:db8::1]", "5000", id="ipv6-in-brackets"),
        pytest.param("[2001:db8::1]:65535", "[2001:db8::1]", "65535", id="ipv6-and-port"),
        pytest.param("localhost:1", "localhost", "1", id="lowest-port"),
    ],
)
def test_an_external_address_has_many_forms(value: str, host: str, port: str, render: Render) -> None:
    got = render(annotations={"expose": "External", "big-model-address": value}, config={})

    assert (got.env("edge")["BIG_MODEL_IP"], got.env("edge")["BIG_MODEL_PORT"]) == (host, port)
    assert got.of_kind("Service")[0]["spec"]["type"] == "ClusterIP"


@pytest.mark.parametrize(
    "value",
    [
        "",
        " ",
        "http://big.example.com",
        "big.example.com/path",
        "big.example.com:",
        "big.example.com:0",
        "big.example.com:65536",
        "big.example.com:١",
        "big.example.com: 80",
        "big example.com",
        ":80",
        "[2001:db8::1",
        "2001:db8::1]:80",
        "[2001:db8::1]80",
        "[big.example.com]:80",
        "fe80::1%eth0",
        "256.1.1.1",
        "1.2.3",
        "big.example.com:80:90",
        "a" * 300,
        "a" * 64 + ".example.com",
        "\u212aelvin.example.com",
        "big.example.com:08443",
        "big.example.com:100000",
        "0.0.0.0:80",
        "[::]:80",
        "239.1.2.3",
    ],
)
def test_an_external_address_that_is_none_is_refused(value: str, render: Render) -> None:
    got = render(annotations={"expose": "External", "big-model-address": value}, config={})

    assert got.status == 2
    assert got.errors == ["invalid-address"]


@pytest.mark.parametrize(
    "value",
    [
        *("", "192.0.2.1:80", "http://192.0.2.1", "[2001:db8::1]", "192.0.2.300", "a_b"),
        *("0.0.0.0", "::", "127.0.0.1", "127.9.9.9", "::1", "localhost", "LocalHost"),  # noqa: S104
        *("224.0.0.1", "ff02::1", "255.255.255.255", "fe80::1", "a" * 64 + ".example.com"),
    ],
)
def test_a_cloud_address_that_is_none_is_refused_wherever_it_stands(value: str, render: Render) -> None:
    assert render(annotations={"cloud-address": value}, config={}).errors == ["invalid-address"]
    if value:
        assert "invalid-address" in render(config={"cloudAddress": value}).errors
    assert "invalid-address" in render(config={"nodeAddresses": {"cloud-1": value}}).errors


@pytest.mark.parametrize("value", ["localhost:8080", "127.0.0.1:8080", "[::1]:8080"])
def test_an_external_address_may_be_a_tunnel_on_the_edge_node(value: str, render: Render) -> None:
    got = render(annotations={"expose": "External", "big-model-address": value}, config={})

    assert got.env("edge")["BIG_MODEL_PORT"] == "8080"


@pytest.mark.parametrize("bad", ["::", "127.0.0.1", "fe80::1", "192.0.2.300", "http://192.0.2.1"])
def test_an_address_of_a_node_that_is_none_is_passed_over(bad: str, render: Render, make: Any) -> None:
    only = render(config={}, objects=[make.node("cloud-1", f"InternalIP={bad}")])
    among_others = render(
        config={}, objects=[make.node("cloud-1", f"ExternalIP={bad}", "InternalIP=192.0.2.7")]
    )

    assert only.errors == ["no-cloud-address"]
    assert only.finding("invalid-address")["severity"] == "warning"
    assert among_others.env("edge")["BIG_MODEL_IP"] == "192.0.2.7"
    found = among_others.finding("invalid-address")
    assert found["field"] == "status.addresses[0].address"


def test_edgemesh_needs_no_address(render: Render) -> None:
    got = render(namespace="site", annotations={"expose": "EdgeMesh"}, config={})

    assert got.env("edge")["BIG_MODEL_IP"] == "helmet-cloud.site"
    assert got.env("edge")["BIG_MODEL_PORT"] == "5000"
    assert got.of_kind("Service")[0]["spec"]["ports"][0]["name"] == "tcp-0"

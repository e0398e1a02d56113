"""What a model adds to its worker's pod: volumes, mounts, the init container, credentials."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

Render = Callable[..., Any]

ADDRESS = {"cloudAddress": "192.0.2.1"}
HTTPS = "https://example.com/models/big.pb"
S3 = "s3://bucket/models/big.pb"
DOWNLOADED = {"name": "sedna-storage-initializer", "mountPath": "/downloads", "readOnly": True}
DOWNLOAD_VOLUME = {"name": "sedna-storage-initializer", "emptyDir": {}}
ENDPOINTS = {
    "annotation": "http://annotated.example.com:9000",
    "secret": "secret.example.com:9000",
    "config": "config.example.com",
}


def container(name: str = "main", **fields: Any) -> dict[str, Any]:
    return {"name": name, "image": "example.com/main:1", **fields}


def secret(*keys: str, **annotations: str) -> dict[str, Any]:
    named = {key.replace("_", "-"): value for key, value in annotations.items()}
    return {
        "apiVersion": "v1",
        "kind": "Secret",
        "metadata": {"name": "keys", **({"annotations": named} if named else {})},
        "stringData": dict.fromkeys(keys or ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY"), "x"),
    }


def render_s3(run: Render, make: Any, *objects: dict[str, Any], config: Any = None, **model: Any) -> Any:
    big = make.model("big", S3, **{"credential": "keys", **model})
    little = make.model("little", "/data/little/model.pb")
    return run(make.service(), big, little, *objects, config={**ADDRESS, **(config or {})})


def initializer(got: Any, worker: str = "cloud") -> dict[str, Any]:
    found: dict[str, Any] = got.pod(worker)["initContainers"][-1]
    assert found["name"] == "storage-initializer"
    return found


def init_env(got: Any) -> dict[str, Any]:
    return {entry["name"]: entry.get("value", entry.get("valueFrom")) for entry in initializer(got)["env"]}


@pytest.mark.parametrize(
    ("big", "volume", "mount", "model_url"),
    [
        pytest.param(
            "/data/big/model.pb",
            {"name": "data-bigz", "hostPath": {"path": "/data/big/", "type": "Directory"}},
            {"name": "data-bigz", "mountPath": "/home/data/data/big"},
            "/home/data/data/big/model.pb",
            id="hostPath",
        ),
        pytest.param(HTTPS, DOWNLOAD_VOLUME, DOWNLOADED, "/downloads/example.com/models/big.pb", id="https"),
        pytest.param(S3, DOWNLOAD_VOLUME, DOWNLOADED, "/downloads/bucket/models/big.pb", id="s3"),
        pytest.param(
            "pvc://claim/models/big.pb",
            {"name": "sedna-model", "persistentVolumeClaim": {"claimName": "claim", "readOnly": True}},
            {"name": "sedna-model", "mountPath": "/pvc/claim", "readOnly": True},
            "/pvc/claim/models/big.pb",
            id="claim",
        ),
    ],
)
def test_a_model_becomes_a_volume_a_mount_in_every_container_and_a_path(
    big: str, volume: Any, mount: Any, model_url: str, render: Render
) -> None:
    got = render(big=big, cloud={"containers": [container(), container("two")]})

    assert got.pod("cloud")["volumes"] == [volume]
    assert [item["volumeMounts"] for item in got.pod("cloud")["containers"]] == [[mount], [mount]]
    assert [got.env("cloud", i)["MODEL_URL"] for i in (0, 1)] == [model_url] * 2
    assert not any("resources" in item for item in got.pod("cloud")["containers"])


def test_nothing_is_mounted_where_the_model_says_so(run: Render, make: Any) -> None:
    big = make.model("big", "hf://org/model", model_mount="none")

    got = run(make.service(), big, make.model("little", "/data/l/model.pb"), config=ADDRESS)

    assert got.env("cloud")["MODEL_URL"] == "hf://org/model"
    assert "DATA_PATH_PREFIX" not in got.env("cloud")
    assert not {"volumes", "initContainers"} & got.pod("cloud").keys()
    assert "volumeMounts" not in got.pod("cloud")["containers"][0]


def test_read_only_is_an_option_for_hostpath_models(render: Render) -> None:
    got = render(config={**ADDRESS, "modelReadOnly": True})

    assert got.pod("cloud")["containers"][0]["volumeMounts"][0]["readOnly"] is True
    assert "readOnly" not in render().pod("cloud")["containers"][0]["volumeMounts"][0]


def test_the_initializer_is_the_last_init_container(render: Render) -> None:
    own = [container("first"), container("sidecar", restartPolicy="Always")]

    got = render(big=HTTPS, cloud={"initContainers": own})

    assert [item["name"] for item in got.pod("cloud")["initContainers"]] == [
        "first",
        "sidecar",
        "storage-initializer",
    ]
    assert initializer(got)["args"] == [HTTPS, "/downloads/example.com/models/"]
    assert initializer(got)["imagePullPolicy"] == "IfNotPresent"
    assert initializer(got)["terminationMessagePolicy"] == "FallbackToLogsOnError"
    assert init_env(got) == {"INDIRECT_URL_MARK": "@"}


def test_the_initializers_limits_are_left_out_where_the_whole_pod_has_some(render: Render) -> None:
    limits = {"limits": {"cpu": "1", "memory": "1Gi"}}

    assert initializer(render(big=HTTPS))["resources"] == limits
    assert "resources" not in initializer(render(big=HTTPS, cloud={"resources": limits}))
    assert initializer(render(big=HTTPS, cloud={"resources": {}}))["resources"] == limits


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"initContainers": [container("storage-initializer")]}, id="init-container"),
        pytest.param({"containers": [container("storage-initializer")]}, id="container"),
        pytest.param(
            {"volumes": [{"name": "sedna-storage-initializer", "emptyDir": {"medium": "Memory"}}]},
            id="volume",
        ),
    ],
)
def test_reserved_names_are_refused_for_something_else(spec: dict[str, Any], render: Render) -> None:
    assert render(big=HTTPS, cloud=spec).errors == ["reserved-name"]


@pytest.mark.parametrize(
    "spec",
    [
        pytest.param({"initContainers": [container("storage-initializer")]}, id="init-container"),
        pytest.param({"containers": [container("storage-initializer")]}, id="container"),
        pytest.param(
            {"volumes": [{"name": "sedna-storage-initializer", "emptyDir": {"medium": "Memory"}}]},
            id="volume",
        ),
    ],
)
def test_a_reserved_name_is_free_where_nothing_is_downloaded(spec: dict[str, Any], render: Render) -> None:
    assert render(cloud=spec).errors == []


def test_what_is_there_already_is_reused(render: Render) -> None:
    first = render(big=HTTPS).pod("cloud")

    again = render(big=HTTPS, cloud={key: first[key] for key in ("containers", "initContainers", "volumes")})

    assert again.errors == []
    assert again.pod("cloud") == first


def test_the_claims_volume_name_is_reserved_too(render: Render) -> None:
    other = {"volumes": [{"name": "sedna-model", "emptyDir": {}}]}

    assert render(big="pvc://claim/big.pb", cloud=other).errors == ["reserved-name"]


@pytest.mark.parametrize("path", ["/home/data/data/big", "/home/data/data/big/", "/home/data//data/./big"])
def test_another_mount_where_the_model_goes_is_a_clash(path: str, render: Render) -> None:
    cloud = {
        "volumes": [{"name": "mine", "emptyDir": {}}],
        "containers": [container(), container("two", volumeMounts=[{"name": "mine", "mountPath": path}])],
    }

    got = render(cloud=cloud)

    assert got.errors == ["mount-path-clash"]
    assert got.finding("mount-path-clash")["field"].endswith("containers[1].volumeMounts[0].mountPath")


def test_a_volume_that_has_the_models_name_by_chance_makes_it_take_another(render: Render) -> None:
    own = {"name": "data-bigz", "emptyDir": {}}

    got = render(cloud={"volumes": [own]})

    taken, added = got.pod("cloud")["volumes"]
    assert taken == own
    assert added["name"].startswith("data-bigz-")
    assert added["hostPath"] == {"path": "/data/big/", "type": "Directory"}
    assert got.pod("cloud")["containers"][0]["volumeMounts"] == [
        {"name": added["name"], "mountPath": "/home/data/data/big"}
    ]


@pytest.mark.parametrize("folder", ["/模型/", "/---/", f"/{'x' * 80}/"])
def test_a_folder_whose_name_makes_no_volume_name_gets_a_hash(folder: str, render: Render) -> None:
    got = render(big=f"{folder}m.pb")

    [volume] = got.pod("cloud")["volumes"]
    assert len(volume["name"]) <= 63
    assert volume["name"].replace("-", "").isalnum()
    assert volume["name"].isascii()
    assert volume["hostPath"]["path"] == folder


@pytest.mark.parametrize(
    ("sources", "endpoint"),
    [
        pytest.param(
            {"annotation", "secret", "config"}, "http://annotated.example.com:9000", id="annotation"
        ),
        pytest.param({"secret", "config"}, "https://secret.example.com:9000", id="secret"),
        pytest.param({"config"}, "https://config.example.com", id="config"),
    ],
)
@pytest.mark.parametrize("credential", ["keys", ""])
def test_the_s3_endpoint_comes_from_the_most_explicit_place(
    credential: str, sources: set[str], endpoint: str, run: Render, make: Any
) -> None:
    if not credential and sources == {"secret", "config"}:
        endpoint = "https://config.example.com"  # without a credentialName no Secret is meant
    got = render_s3(
        run,
        make,
        *([secret(s3_endpoint=ENDPOINTS["secret"])] if "secret" in sources else []),
        config={"s3Endpoint": ENDPOINTS["config"]} if "config" in sources else {},
        credential=credential,
        **({"s3_endpoint": ENDPOINTS["annotation"]} if "annotation" in sources else {}),
    )

    assert init_env(got)["S3_ENDPOINT_URL"] == endpoint
    assert ("ACCESS_KEY_ID" in init_env(got)) == bool(credential)


@pytest.mark.parametrize(
    ("endpoint", "https", "expected"),
    [
        pytest.param("a.example.com", None, "https://a.example.com", id="default"),
        pytest.param("a.example.com", "1", "https://a.example.com", id="1"),
        pytest.param("a.example.com", "0", "http://a.example.com", id="0"),
        pytest.param("a.example.com", "false", "https://a.example.com", id="only-0-means-http"),
        pytest.param("http://a.example.com", "1", "http://a.example.com", id="a-scheme-of-its-own"),
    ],
)
def test_the_secrets_annotations_make_the_scheme(
    endpoint: str, https: str | None, expected: str, run: Render, make: Any
) -> None:
    annotations = {"s3_endpoint": endpoint, **({"s3_usehttps": https} if https is not None else {})}

    assert init_env(render_s3(run, make, secret(**annotations)))["S3_ENDPOINT_URL"] == expected


@pytest.mark.parametrize(("https", "scheme"), [(True, "https"), (False, "http")])
def test_the_configuration_makes_the_scheme_of_its_own_and_the_annotations_endpoint(
    https: bool, scheme: str, run: Render, make: Any
) -> None:
    by_config = render_s3(run, make, config={"s3Endpoint": "a.example.com", "s3UseHttps": https})
    by_annotation = render_s3(run, make, config={"s3UseHttps": https}, s3_endpoint="a.example.com")

    assert init_env(by_config)["S3_ENDPOINT_URL"] == f"{scheme}://a.example.com"
    assert init_env(by_annotation)["S3_ENDPOINT_URL"] == f"{scheme}://a.example.com"


def test_credentials_are_references_and_never_values(run: Render, make: Any) -> None:
    got = render_s3(run, make, secret(s3_endpoint="a.example.com"))

    for name in ("ACCESS_KEY_ID", "SECRET_ACCESS_KEY"):
        assert init_env(got)[name] == {"secretKeyRef": {"name": "keys", "key": name}}
        assert name not in got.env("cloud")


def test_credentials_without_an_endpoint_are_an_error_that_lists_the_ways(run: Render, make: Any) -> None:
    got = render_s3(run, make)

    assert got.errors == ["model-credential-without-endpoint"]
    for way in ("render.sedna.io/s3-endpoint", "s3-usehttps", "s3Endpoint in sedna-render.yaml"):
        assert way in got.finding("model-credential-without-endpoint")["remedy"]


def test_a_public_bucket_needs_no_endpoint(run: Render, make: Any) -> None:
    assert init_env(render_s3(run, make, credential="")) == {"INDIRECT_URL_MARK": "@"}


def test_a_secret_of_another_namespace_is_not_meant(run: Render, make: Any) -> None:
    other = secret(s3_endpoint="a.example.com")
    other["metadata"]["namespace"] = "elsewhere"

    assert render_s3(run, make, other).errors == ["model-credential-without-endpoint"]


@pytest.mark.parametrize("missing", ["ACCESS_KEY_ID", "SECRET_ACCESS_KEY"])
def test_a_secret_without_a_key_that_the_worker_needs_is_warned_of(
    missing: str, run: Render, make: Any
) -> None:
    keys = {"ACCESS_KEY_ID", "SECRET_ACCESS_KEY"} - {missing}

    got = render_s3(run, make, secret(*keys, s3_endpoint="a.example.com"))

    assert missing in got.finding("secret-key-missing")["message"]


@pytest.mark.parametrize("url", [HTTPS, "http://example.com/big.pb"])
def test_credentials_of_a_web_server_are_not_used_and_that_is_said(url: str, run: Render, make: Any) -> None:
    big = make.model("big", url, credential="keys")

    got = run(make.service(), big, make.model("little", "/data/l/model.pb"), config=ADDRESS)

    assert "credential-unused" in got.rules
    assert "ACCESS_KEY_ID" not in init_env(got)


@pytest.mark.parametrize(
    ("name", "said"),
    [
        pytest.param("bigg", "did you mean big?", id="near-miss"),
        pytest.param("other", "move the Model to default", id="another-namespace"),
        pytest.param("nothing-like-it", "add the Model", id="nowhere"),
    ],
)
def test_a_model_that_is_not_there_is_named_with_what_is(
    name: str, said: str, run: Render, make: Any
) -> None:
    service = make.service(cloud_worker={"model": {"name": name}})

    got = run(service, *make.models(), make.model("other", "/a/b", namespace="elsewhere"), config=ADDRESS)

    assert got.errors == ["model-not-found"]
    assert "there are: " in got.finding("model-not-found")["message"]
    assert said in got.finding("model-not-found")["remedy"]
    assert got.finding("model-not-found")["field"] == "spec.cloudWorker.model.name"


def test_a_model_that_is_wrong_is_not_also_missing(run: Render, make: Any) -> None:
    broken = make.model("big", "/data/big/model.pb")
    broken["spec"]["url"] = 5

    got = run(make.service(), broken, make.model("little", "/a/b/c"), config=ADDRESS)

    assert got.errors == ["wrong-type"]

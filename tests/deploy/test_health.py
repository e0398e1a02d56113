"""One status, three judges: Argo CD's script, Flux's expressions and kstatus, each run as it runs there."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

import cel
import pytest
import yaml
from lupa import lua51

Object = dict[str, Any]

HEALTH = "resource.customizations.health.sedna.io_JointInferenceService"
ARGO_CODES = {"Healthy", "Progressing", "Degraded", "Suspended", "Missing", "Unknown"}
# What Argo CD opens for a script unless it is told to open all: base, package, table, and an os without teeth.
ARGO_LIBRARIES = {"_G", "table", "package", "os"}
SAFE_OS = {"time", "date"}


# --- Argo CD ------------------------------------------------------------------------------------------


@pytest.fixture(scope="session")
def script(deploy: Path) -> str:
    patch = yaml.safe_load((deploy / "argocd" / "argocd-cm.yaml").read_text(encoding="utf-8"))
    assert (patch["kind"], patch["metadata"]["name"]) == ("ConfigMap", "argocd-cm")
    assert list(patch["data"]) == [HEALTH], "useOpenLibs is not asked for"
    found: str = patch["data"][HEALTH]
    return found


def _argo(script: str, manifest: Object) -> dict[str, str]:
    """Lua 5.1, as Argo CD's is, with no library but those that it opens."""
    lua = lua51.LuaRuntime(register_eval=False, register_builtins=False, unpack_returned_tuples=True)
    for name in [name for name in lua.globals().package.loaded if name not in ARGO_LIBRARIES]:
        lua.globals()[name] = None
        lua.globals().package.loaded[name] = None
    for name in list(lua.globals().os):
        if name not in SAFE_OS:
            lua.globals().os[name] = None
    lua.globals()["obj"] = _table(lua, manifest)
    return dict(lua.execute(script))


def _table(lua: Any, value: Any) -> Any:
    if isinstance(value, dict):
        return lua.table_from({key: _table(lua, one) for key, one in value.items()})
    if isinstance(value, list):
        return lua.table_from([_table(lua, one) for one in value])
    return value


def test_argo_cd_judges_a_sample_as_expected(script: str, sample: dict[str, Any]) -> None:
    health = _argo(script, sample["object"])
    assert health["status"] == sample["expect"]["argocd"]
    assert health["status"] in ARGO_CODES
    assert isinstance(health["message"], str)


def test_argo_cd_shows_why(script: str, written: dict[str, Any]) -> None:
    (ready,) = [one for one in written["object"]["status"]["conditions"] if one["type"] == "Ready"]
    stale = written["object"]["metadata"]["generation"] > written["object"]["status"].get(
        "observedGeneration", 1
    )
    shown = _argo(script, written["object"])["message"]
    assert shown == ("The reconciler has not looked at the latest change yet." if stale else ready["message"])


@pytest.mark.parametrize(
    "status",
    [
        pytest.param({}, id="an empty status"),
        pytest.param({"conditions": []}, id="no conditions"),
        pytest.param({"conditions": [{"type": "Ready", "status": "False"}]}, id="neither reason nor message"),
        pytest.param({"conditions": [{"type": "Ready", "status": "Unknown"}]}, id="unknown for no reason"),
        pytest.param({"conditions": [{"type": "Ready"}]}, id="a condition without status"),
        pytest.param(
            {"conditions": [{"type": "Ready", "status": "Unknown", "reason": "CloudUnreachable"}]},
            id="the cloud is away",
        ),
    ],
)
def test_argo_cd_goes_on_waiting_where_little_is_known(script: str, status: Object) -> None:
    health = _argo(script, {"metadata": {"generation": 1}, "status": status})
    assert health["status"] == "Progressing"
    assert isinstance(health["message"], str)


def test_the_interpreter_is_as_poor_as_argo_cds() -> None:
    for library in ("string", "math", "io", "debug", "coroutine"):
        assert _argo(f"return {{status = type({library})}}", {}) == {"status": "nil"}
    assert _argo("return {status = type(os.execute), message = type(os.time)}", {}) == {
        "status": "nil",
        "message": "function",
    }
    assert _argo("return {status = type(table.insert)}", {}) == {"status": "function"}


def test_argo_cd_needs_far_less_than_its_second(script: str) -> None:
    """A thousand conditions, counted in instructions: a clock would measure the machine."""
    conditions = [{"type": f"Foreign{number}", "status": "True"} for number in range(1000)]
    lua = lua51.LuaRuntime()
    lua.globals()["obj"] = _table(lua, {"metadata": {"generation": 1}, "status": {"conditions": conditions}})
    counted = lua.execute(
        "local steps = 0; debug.sethook(function() steps = steps + 1 end, '', 1); "
        f"local judge = function() {script} end; judge(); debug.sethook(); return steps"
    )
    assert counted < 50_000


# --- Flux ---------------------------------------------------------------------------------------------


@pytest.fixture(scope="session", params=["health-checks.yaml", "health-checks-edge-may-be-away.yaml"])
def flux(request: pytest.FixtureRequest, deploy: Path) -> tuple[str, Object]:
    """The field of a sample that says what is expected, and the Kustomization."""
    kustomization: Object = yaml.safe_load((deploy / "flux" / request.param).read_text(encoding="utf-8"))
    field = "flux" if request.param == "health-checks.yaml" else "flux_edge_may_be_away"
    return field, kustomization


def _expressions(kustomization: Object, kind: str) -> dict[str, str]:
    found: list[dict[str, str]] = kustomization["spec"]["healthCheckExprs"]
    (one,) = [one for one in found if one["kind"] == kind]
    return one


def _flux(expressions: Mapping[str, str], manifest: Object) -> str:
    """RFC 0009: the generation first, then inProgress, failed, current; what is none of them is in progress.

    An expression that cannot be evaluated keeps Flux waiting, which comes to the same.
    """
    observed = manifest.get("status", {}).get("observedGeneration")
    generation = manifest["metadata"].get("generation")
    if None not in {observed, generation} and observed != generation:
        return "InProgress"
    for name, verdict in (("inProgress", "InProgress"), ("failed", "Failed"), ("current", "Current")):
        if name in expressions and _evaluate(expressions[name], manifest):
            return verdict
    return "InProgress"


def _evaluate(expression: str, manifest: Object) -> bool:
    if "status" not in manifest:
        with pytest.raises(RuntimeError, match="Undefined variable"):
            cel.evaluate(expression, manifest)
        return False
    value = cel.evaluate(expression, manifest)
    assert isinstance(value, bool)
    return value


def test_flux_judges_a_sample_as_expected(flux: tuple[str, Object], sample: dict[str, Any]) -> None:
    field, kustomization = flux
    expressions = _expressions(kustomization, "JointInferenceService")
    assert _flux(expressions, sample["object"]) == sample["expect"][field]


def test_flux_has_what_its_definition_demands(flux: tuple[str, Object]) -> None:
    _, kustomization = flux
    assert kustomization["apiVersion"] == "kustomize.toolkit.fluxcd.io/v1"
    assert kustomization["spec"]["wait"] is True
    for check in kustomization["spec"]["healthCheckExprs"]:
        assert {"apiVersion", "kind", "current"} <= check.keys()
        assert check.keys() <= {"apiVersion", "kind", "current", "failed", "inProgress"}


READY = {"type": "Ready", "status": "True"}
NOT_READY = {"type": "Ready", "status": "False"}


@pytest.mark.parametrize(
    ("status", "expected"),
    [
        pytest.param({"phase": "Running", "conditions": [READY]}, "Current", id="ready"),
        pytest.param({"phase": "Pending"}, "InProgress", id="just made"),
        pytest.param({}, "InProgress", id="not seen by anybody"),
        pytest.param({"phase": "Failed", "reason": "Evicted"}, "Failed", id="evicted"),
        pytest.param(
            {
                "phase": "Running",
                "conditions": [NOT_READY],
                "containerStatuses": [{"state": {"waiting": {"reason": "CrashLoopBackOff"}}}],
            },
            "Failed",
            id="crash-looping",
        ),
        pytest.param(
            {
                "phase": "Pending",
                "conditions": [NOT_READY],
                "containerStatuses": [{"state": {"waiting": {}}}, {"state": {"running": {}}}],
            },
            "InProgress",
            id="waiting for no reason",
        ),
    ],
)
def test_flux_tells_a_failed_pod_from_a_finished_one(deploy: Path, status: Object, expected: str) -> None:
    kustomization = yaml.safe_load((deploy / "flux" / "health-checks.yaml").read_text(encoding="utf-8"))
    pod = {"metadata": {"generation": 1}, "status": status}
    assert _flux(_expressions(kustomization, "Pod"), pod) == expected


# --- kstatus: Flux without expressions, kpt, kubectl's newer waits --------------------------------------


def _kstatus(manifest: Object) -> str:
    """The rules for a kind that it does not know, in the order in which it applies them."""
    metadata, status = manifest["metadata"], manifest.get("status", {})
    if "deletionTimestamp" in metadata:
        return "Terminating"
    if {metadata.get("generation"), status.get("observedGeneration")} - {None, metadata.get("generation")}:
        return "InProgress"
    conditions = status.get("conditions", [])
    for one in conditions:
        verdict = {"Reconciling": "InProgress", "Stalled": "Failed"}.get(one["type"])
        if verdict and one["status"] == "True":
            return verdict
    ready = [one["status"] for one in conditions if one["type"] == "Ready"]
    return "Current" if not ready or ready[0] == "True" else "InProgress"


def test_kstatus_judges_a_sample_as_expected(sample: dict[str, Any]) -> None:
    assert _kstatus(sample["object"]) == sample["expect"]["kstatus"]


def test_the_three_agree_on_what_is_well_and_what_failed(written: dict[str, Any]) -> None:
    expect = written["expect"]
    assert (
        (expect["argocd"] == "Healthy") == (expect["flux"] == "Current") == (expect["kstatus"] == "Current")
    )
    assert (expect["argocd"] == "Degraded") == (expect["flux"] == "Failed") == (expect["kstatus"] == "Failed")

"""Alerts and the dashboard ask only for what is measured: each metric, each of its labels, each value of a label."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any, NamedTuple

import promql_parser
import pytest
import yaml

from reconciler.metrics import Metrics
from reconciler.reasons import REASONS, SERVICE_REASONS
from reconciler.work_queue import Load

Object = dict[str, Any]

ROOT = Path(__file__).parent.parent.parent
#: Put on by whoever scrapes.
SCRAPED = {"job", "instance", "pod", "namespace", "service", "endpoint", "container"}
# On Linux; elsewhere the client library leaves them out.
PROCESS = {"process_resident_memory_bytes", "process_cpu_seconds_total"}


# --- what is measured ---------------------------------------------------------------------------------


def _of_the_program() -> dict[str, set[str]]:
    """The reconciler's metrics, as Prometheus names them, with their labels."""
    metrics = Metrics()
    metrics.show_queue(lambda: Load(0, 0, 0.0, 0.0, 0, 0))
    found: dict[str, set[str]] = {name: set() for name in PROCESS}
    for collector, names in metrics.registry._collector_to_names.items():
        labels = set(getattr(collector, "_labelnames", ()))
        for name in names:
            found[name] = labels | ({"le"} if name.endswith("_bucket") else set())
        for family in collector.collect():
            found |= {one.name: set(one.labels) for one in family.samples if one.name not in found}
    return found


def _of_kube_state_metrics(config: Object) -> dict[str, set[str]]:
    found: dict[str, set[str]] = {}
    for resource in config["spec"]["resources"]:
        for metric in resource["metrics"]:
            each = next(one for key, one in metric["each"].items() if key != "type")
            labels = {
                *resource["labelsFromPath"],
                *metric.get("commonLabels", {}),
                *each.get("labelsFromPath", {}),
                *filter(None, [each.get("labelName")]),
            }
            name = f"{resource['metricNamePrefix']}_{metric['name']}"
            assert found.setdefault(name, labels) == labels
    return found


@pytest.fixture(scope="session")
def config(deploy: Path) -> Object:
    path = deploy / "kube-state-metrics" / "custom-resource-state.yaml"
    found: Object = yaml.safe_load(path.read_text(encoding="utf-8"))
    return found


@pytest.fixture(scope="session")
def measured(config: Object) -> dict[str, set[str]]:
    return _of_the_program() | _of_kube_state_metrics(config)


# --- what is asked ------------------------------------------------------------------------------------


class Asked(NamedTuple):
    """One selector of an expression."""

    metric: str
    matchers: tuple[tuple[str, str], ...]


def _walk(node: Any) -> Iterator[Any]:
    yield node
    for field in ("expr", "lhs", "rhs", "param", "vector_selector"):
        child = getattr(node, field, None)
        if child is not None and not isinstance(child, (str, float, int)):
            yield from _walk(child)
    for child in getattr(node, "args", None) or ():
        yield from _walk(child)


def _asked(expression: str) -> list[Asked]:
    tree = promql_parser.parse(expression)
    selectors = [node for node in _walk(tree) if isinstance(node, promql_parser.VectorSelector)]
    return [
        Asked(str(node.name), tuple((one.name, one.value) for one in node.matchers.matchers))
        for node in selectors
    ]


def _grouped(expression: str) -> set[str]:
    """The labels that an expression groups or joins by."""
    lists = re.findall(r"\b(?:by|on|ignoring)\s*\(([^)]*)\)", expression)
    return {name.strip() for one in lists for name in one.split(",") if name.strip()}


def _rules(deploy: Path) -> list[Object]:
    rule = yaml.safe_load((deploy / "alerts" / "prometheus-rule.yaml").read_text(encoding="utf-8"))
    assert (rule["apiVersion"], rule["kind"]) == ("monitoring.coreos.com/v1", "PrometheusRule")
    return [one for group in rule["spec"]["groups"] for one in group["rules"]]


def _dashboard(deploy: Path) -> Object:
    path = deploy / "grafana" / "sedna-joint-inference.json"
    found: Object = json.loads(path.read_text(encoding="utf-8"))
    return found


def _expressions(deploy: Path) -> dict[str, str]:
    alerts = {rule["alert"]: rule["expr"] for rule in _rules(deploy)}
    panels = {
        f"{panel['title']} {target['refId']}": target["expr"]
        for panel in _dashboard(deploy)["panels"]
        for target in panel.get("targets", ())
    }
    assert alerts
    assert panels
    return alerts | panels


def test_every_metric_that_is_asked_for_is_measured(deploy: Path, measured: dict[str, set[str]]) -> None:
    asked = {(where, one.metric) for where, expr in _expressions(deploy).items() for one in _asked(expr)}
    assert len(asked) > 30, "the walk finds selectors"
    assert sorted(one for one in asked if one[1] not in measured) == []


def test_every_label_that_is_asked_for_is_there(deploy: Path, measured: dict[str, set[str]]) -> None:
    wrong = []
    for where, expression in _expressions(deploy).items():
        selectors = _asked(expression)
        known = SCRAPED.union(*(measured[one.metric] for one in selectors))
        wrong += [(where, label) for label in sorted(_grouped(expression) - known)]
        for one in selectors:
            there = measured[one.metric] | SCRAPED
            wrong += [(where, label) for label, _ in one.matchers if label not in there]
    assert wrong == []


def test_every_value_that_is_asked_for_is_one_that_is_written(deploy: Path, config: Object) -> None:
    source = "\n".join(path.read_text() for path in sorted((ROOT / "reconciler").rglob("*.py")))
    (resource,) = config["spec"]["resources"]
    conditions = {one["commonLabels"]["condition"] for one in resource["metrics"] if "commonLabels" in one}
    written = {"condition": conditions, "status": {"True", "False", "Unknown"}}
    wrong = []
    for where, expression in _expressions(deploy).items():
        for one in _asked(expression):
            for label, pattern in one.matchers:
                if label in SCRAPED:
                    continue
                values = pattern.split("|")
                known = [v for v in values if v in written.get(label, ()) or f'"{v}"' in source]
                wrong += [(where, label, value) for value in values if value not in known]
    assert wrong == []


def test_every_common_metric_is_asked_of_the_reconciler_alone(deploy: Path) -> None:
    """controller-runtime's names are everybody's: without the job an alert would speak for other controllers."""
    for where, expression in _expressions(deploy).items():
        for one in _asked(expression):
            if not one.metric.startswith("sedna_"):
                assert dict(one.matchers)["job"] in {"sedna-reconciler", "$job"}, where


@pytest.mark.parametrize("field", ["summary", "description"])
def test_an_alert_says_what_is_wrong_and_what_to_look_at(deploy: Path, field: str) -> None:
    for rule in _rules(deploy):
        assert rule["annotations"][field]
        assert rule["labels"]["severity"] in {"critical", "warning"}
        assert re.fullmatch(r"\d+[mh]", rule["for"])


def test_an_alert_names_only_labels_that_it_has(deploy: Path, measured: dict[str, set[str]]) -> None:
    for rule in _rules(deploy):
        named = set(re.findall(r"\$labels\.(\w+)", json.dumps(rule["annotations"])))
        first = re.match(r"\s*(sum|max|absent|histogram_quantile)\b(?: by \(([^)]*)\))?", rule["expr"])
        if first:
            there = {one.strip() for one in (first[2] or "").split(",")}
        else:
            there = measured[_asked(rule["expr"])[0].metric] | SCRAPED
        assert named <= there, rule["alert"]


def test_panels_have_room_of_their_own(deploy: Path) -> None:
    panels = _dashboard(deploy)["panels"]
    assert len({panel["id"] for panel in panels}) == len(panels)
    taken: set[tuple[int, int]] = set()
    for panel in panels:
        at = panel["gridPos"]
        cells = {(x, y) for x in range(at["x"], at["x"] + at["w"]) for y in range(at["y"], at["y"] + at["h"])}
        assert max(x for x, _ in cells) < 24
        assert not cells & taken, panel["title"]
        taken |= cells


def test_a_panel_says_what_it_shows(deploy: Path) -> None:
    panels = [one for one in _dashboard(deploy)["panels"] if one["type"] != "row"]
    assert all(panel["title"] and panel["description"] and panel["targets"] for panel in panels)
    variables = {one["name"] for one in _dashboard(deploy)["templating"]["list"]}
    assert variables == {"datasource", "job", "namespace"}


# --- kube-state-metrics -------------------------------------------------------------------------------


def _follow(value: Any, path: list[str]) -> Any:
    """A path as kube-state-metrics follows it: keys, and ``[key=value]`` for the first such entry of a list."""
    for part in path:
        looked_up = re.fullmatch(r"\[(\w+)=(\w+)\]", part)
        if looked_up and isinstance(value, list):
            key, wanted = looked_up.groups()
            value = next((one for one in value if one.get(key) == wanted), None)
        else:
            value = value.get(part) if isinstance(value, dict) else None
    return value


def _series(config: Object, manifest: Object) -> list[tuple[str, tuple[tuple[str, str], ...], Any]]:
    (resource,) = config["spec"]["resources"]
    found = []
    for metric in resource["metrics"]:
        kind, each = metric["each"]["type"], next(v for k, v in metric["each"].items() if k != "type")
        assert set(metric["each"]) == {"type", kind[0].lower() + kind[1:]}
        target = _follow(manifest, each["path"])
        value = _follow(target, each.get("valueFrom", []))
        if value is None:
            continue
        labels = metric.get("commonLabels", {}) | {
            name: _follow(target, path) for name, path in each.get("labelsFromPath", {}).items()
        }
        values = (
            [({each["labelName"]: one}, int(one == value)) for one in each["list"]]
            if kind == "StateSet"
            else [({}, value)]
        )
        found += [
            (metric["name"], tuple(sorted({**labels, **more}.items())), number) for more, number in values
        ]
    return found


def test_kube_state_metrics_is_told_of_the_right_resource(config: Object) -> None:
    assert config["kind"] == "CustomResourceStateMetrics"
    (resource,) = config["spec"]["resources"]
    assert resource["groupVersionKind"] == {
        "group": "sedna.io",
        "version": "v1alpha1",
        "kind": "JointInferenceService",
    }
    assert all(one["help"] for one in resource["metrics"])


def test_no_sample_gives_a_series_twice(config: Object, sample: dict[str, Any]) -> None:
    """Prometheus refuses a scrape with duplicates; what Sedna's controller left has two of a type."""
    series = [one[:2] for one in _series(config, sample["object"])]
    assert len(set(series)) == len(series)


def test_a_sample_shows_its_state_and_reasons(config: Object, written: dict[str, Any]) -> None:
    shown = {
        dict(labels)["condition"]: (dict(labels)["status"], dict(labels)["reason"])
        for name, labels, value in _series(config, written["object"])
        if name == "condition" and value == 1
    }
    conditions = {one["type"]: one for one in written["object"]["status"]["conditions"]}
    assert shown
    for name, (status, reason) in shown.items():
        assert (status, reason) == (conditions[name]["status"], conditions[name]["reason"])
        assert reason in REASONS.keys() | SERVICE_REASONS.keys()
    (state,) = [name for name in ("Pending", "Running", "Failed") if shown[name][0] == "True"]
    assert state == written["expect"]["state"]


def test_kube_state_metrics_gets_the_rights_that_it_needs(deploy: Path) -> None:
    role, binding = yaml.safe_load_all(
        (deploy / "kube-state-metrics" / "rbac.yaml").read_text(encoding="utf-8")
    )
    granted = {(one["apiGroups"][0], one["resources"][0]): one["verbs"] for one in role["rules"]}
    assert granted == {
        ("sedna.io", "jointinferenceservices"): ["list", "watch"],
        ("apiextensions.k8s.io", "customresourcedefinitions"): ["list", "watch"],
    }
    assert binding["roleRef"]["name"] == role["metadata"]["name"]

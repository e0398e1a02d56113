"""Numbers for Prometheus, under controller-runtime's names where it has them. Decides nothing.

One registry a program, none global: two controllers in one process do not meet.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, generate_latest
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily
from prometheus_client.gc_collector import GCCollector
from prometheus_client.platform_collector import PlatformCollector
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable
    from contextlib import AbstractContextManager

    from prometheus_client import Metric

    from reconciler.work_queue import Load

CONTROLLER = "jointinferenceservice"
CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
_SECONDS = (0.001, 0.003, 0.01, 0.03, 0.1, 0.3, 1.0, 3.0, 10.0, 30.0, 60.0)


class _QueueCollector(Collector):
    """Reads the queue's own counts when they are asked for."""

    def __init__(self, load: Callable[[], Load]) -> None:
        self._load = load

    def collect(self) -> Iterable[Metric]:
        load = self._load()
        names, values = ("name", "controller"), (CONTROLLER, CONTROLLER)
        for family, name, text, value in (
            (GaugeMetricFamily, "depth", "Keys that wait.", load.depth),
            (GaugeMetricFamily, "delayed", "Keys that wait for a time.", load.delayed),
            (GaugeMetricFamily, "unfinished_work_seconds", "Of work in progress.", load.unfinished_seconds),
            (GaugeMetricFamily, "longest_running_processor_seconds", "Likewise.", load.longest_seconds),
            (CounterMetricFamily, "adds", "Keys that were added.", load.adds),
            (CounterMetricFamily, "retries", "Keys added again after a failure.", load.retries),
        ):
            metric = family(f"workqueue_{name}", text, labels=names)
            metric.add_metric(values, value)
            yield metric


class Metrics:
    """All of them; the names are a contract with dashboards and alerts."""

    def __init__(self) -> None:
        self.registry = registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        PlatformCollector(registry=registry)
        GCCollector(registry=registry)
        self._queue()
        self._reconcile()
        self._reflector()
        self._requests = Counter(
            "rest_client_requests_total",
            "HTTP requests, by status code and method.",
            ("code", "method"),
            registry=registry,
        )
        self._leading = Gauge(
            "leader_election_master_status", "1 while this replica leads.", ("name",), registry=registry
        )
        self._events = Counter(
            "events_total", "Events, by what became of them.", ("result",), registry=registry
        )

    def text(self) -> bytes:
        """What /metrics answers."""
        return generate_latest(self.registry)

    def _queue(self) -> None:
        labels = {"name": CONTROLLER, "controller": CONTROLLER}
        names = tuple(labels)

        def histogram(name: str, text: str) -> Histogram:
            return Histogram(
                f"workqueue_{name}", text, names, buckets=_SECONDS, registry=self.registry
            ).labels(**labels)

        self.queue_waited = histogram(
            "queue_duration_seconds", "From being added to being worked on."
        ).observe
        self.queue_worked = histogram("work_duration_seconds", "From being worked on to being done.").observe

    def _reconcile(self) -> None:
        registry, label = self.registry, ("controller",)

        def of(metric: type[Counter | Gauge], name: str, text: str) -> Counter | Gauge:
            made: Counter | Gauge = metric(f"controller_runtime_{name}", text, label, registry=registry)
            return made.labels(controller=CONTROLLER)

        self._results = Counter(
            "controller_runtime_reconcile_total",
            "Reconciliations, by result.",
            ("controller", "result"),
            registry=registry,
        )
        self._errors = of(Counter, "reconcile_errors_total", "Reconciliations that failed.")
        self._terminal = of(Counter, "terminal_reconcile_errors_total", "Those that no retry will mend.")
        self._panics = of(Counter, "reconcile_panics_total", "Those that ended in an unexpected exception.")
        self._workers = of(Gauge, "active_workers", "Workers that are at work.")
        self._most_workers = of(Gauge, "max_concurrent_reconciles", "Workers.")
        self.reconciled = (
            Histogram(
                "controller_runtime_reconcile_time_seconds",
                "Seconds of one reconciliation.",
                label,
                buckets=_SECONDS,
                registry=registry,
            )
            .labels(controller=CONTROLLER)
            .observe
        )
        self._writes = Counter(
            "status_writes_total", "Status patches, by result.", ("result",), registry=registry
        )
        self.staleness = Histogram(
            "status_staleness_seconds",
            "From the first sign of a change to the answer of the patch that tells of it.",
            buckets=_SECONDS,
            registry=registry,
        ).observe
        self._foreign = Counter(
            "foreign_pods_total", "Pods with our label that are no worker of any service.", registry=registry
        )

    def _reflector(self) -> None:
        registry = self.registry
        self._relists = Counter(
            "reflector_relists_total",
            "Full lists, by kind and reason.",
            ("kind", "reason"),
            registry=registry,
        )
        self._undecodable = Counter(
            "reflector_decode_errors_total", "Objects that were skipped.", ("kind",), registry=registry
        )
        self._failures = Counter(
            "reflector_failures_total", "Lists and watches that failed.", ("kind",), registry=registry
        )
        self._last_event = Gauge(
            "reflector_last_event_seconds",
            "Unix time of the last event.",
            ("kind", "scope"),
            registry=registry,
        )
        self._cached = Gauge("cache_objects", "Objects in the cache.", ("kind",), registry=registry)

    # --- what is told by others

    def show_queue(self, load: Callable[[], Load]) -> None:
        self.registry.register(_QueueCollector(load))

    def show_cache(self, sizes: Callable[[], tuple[int, int]]) -> None:
        self._cached.labels(kind="JointInferenceService").set_function(lambda: float(sizes()[0]))
        self._cached.labels(kind="Pod").set_function(lambda: float(sizes()[1]))

    def show_leader(self, name: str, leads: Callable[[], bool]) -> None:
        self._leading.labels(name=name).set_function(lambda: float(leads()))

    def workers(self, count: int) -> None:
        self._most_workers.set(count)  # type: ignore[union-attr]

    def working(self) -> AbstractContextManager[object]:
        """Counts a worker as active, for a ``with``."""
        return self._workers.track_inprogress()  # type: ignore[union-attr]

    def ended(self, result: str) -> None:
        self._results.labels(controller=CONTROLLER, result=result).inc()
        if result == "error":
            self._errors.inc()

    def panicked(self) -> None:
        self._panics.inc()

    def terminal(self) -> None:
        self._terminal.inc()

    def requested(self, method: str, code: str) -> None:
        self._requests.labels(code=code, method=method).inc()

    def sent_event(self, result: str) -> None:
        self._events.labels(result=result).inc()

    def wrote(self, result: str) -> None:
        self._writes.labels(result=result).inc()

    def relisted(self, kind: str, reason: str) -> None:
        self._relists.labels(kind=kind, reason=reason).inc()

    def undecodable(self, kind: str) -> None:
        self._undecodable.labels(kind=kind).inc()

    def failed(self, kind: str) -> None:
        self._failures.labels(kind=kind).inc()

    def heard(self, kind: str, scope: str) -> None:
        self._last_event.labels(kind=kind, scope=scope or "*").set_to_current_time()

    def foreign(self) -> None:
        self._foreign.inc()

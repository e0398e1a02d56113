"""Wires the program together: threads, their start, their watching over, their end.

A thread that ends before its time ends the program, so that Kubernetes starts it anew.
"""

from __future__ import annotations

import gc
import logging
import threading
from typing import TYPE_CHECKING, NamedTuple

from reconciler.cache import EVERYWHERE, Cache, Key
from reconciler.events import Recorder
from reconciler.health import HealthServer, Page, verdict
from reconciler.intake import PodIntake, ServiceIntake
from reconciler.lease import Lease
from reconciler.metrics import CONTENT_TYPE, Metrics
from reconciler.reconcile import Ended, Parts, Reconciler
from reconciler.reflector import Reflector
from reconciler.resource import PODS, SERVICES, Collection
from reconciler.work_queue import WorkQueue
from reconciler.writer import Bucket, StatusWriter

if TYPE_CHECKING:
    from collections.abc import Callable, Iterable

    from reconciler.settings import Settings
    from reconciler.time_source import TimeSource
    from reconciler.transport import Transport

log = logging.getLogger(__name__)

#: A loop that has not turned for so long, beside what it may wait for, hangs.
_HANGS_SECONDS = 60.0
_SUPERVISE_SECONDS = 1.0
_EVENTS_SECONDS = 2.0
_LEASE_SECONDS = 2.0


class Options(NamedTuple):
    """Where and as whom the program runs."""

    #: None: all of them.
    namespaces: tuple[str, ...] = ()
    #: Where the health server listens; empty: it does not.
    listen: str = ""
    #: Namespace and name; None: write without one.
    lease: tuple[str, str] | None = None
    identity: str = "sedna-reconciler"


class Controller:
    """The whole program beneath its command line. ``run`` once."""

    def __init__(
        self, api: Transport, options: Options, settings: Settings, metrics: Metrics, time: TimeSource
    ) -> None:
        self._api, self._options, self._settings, self._time = api, options, settings, time
        self._metrics = metrics
        self._stopping = threading.Event()
        self._drained = threading.Event()
        self._threads: list[threading.Thread] = []
        self._lease_turned = time.monotonic()
        self._cache = Cache(time.monotonic, settings.barrier)
        self._queue: WorkQueue[Key] = WorkQueue(
            time.monotonic,
            first_backoff=settings.retry_first,
            longest_backoff=settings.retry_longest,
            waited=metrics.queue_waited,
            worked=metrics.queue_worked,
        )
        self._lease = (
            Lease(api, time, options.lease, options.identity, settings=settings) if options.lease else None
        )
        self._recorder = Recorder(
            api, time, instance=options.identity, may_write=self.leads, counted=metrics.sent_event
        )
        self._reconciler = Reconciler(self._parts())
        self._reflectors = self._make_reflectors()
        self._health = HealthServer(options.listen, self._pages()) if options.listen else None
        self._show()

    def leads(self) -> bool:
        """Whether this replica may write now."""
        return self._lease.valid() if self._lease else True

    @property
    def health_port(self) -> int:
        """Where the health server came to listen."""
        return int(self._health.server_address[1]) if self._health else 0

    def stop(self) -> None:
        """Have ``run`` end; from any thread, and from a signal handler."""
        self._stopping.set()

    def run(self) -> int:
        """Run until ``stop``, or until something is broken; the exit status."""
        self._start_all()
        status = self._supervise()
        self._end()
        return status

    # --- making

    def _parts(self) -> Parts:
        settings = self._settings
        return Parts(
            cache=self._cache,
            queue=self._queue,
            writer=StatusWriter(self._api, self.leads, timeout=settings.write_timeout),
            bucket=Bucket(self._time, settings.write_rate, settings.write_burst),
            recorder=self._recorder,
            metrics=self._metrics,
            settings=settings,
            time=self._time,
            server_now=self._api.server_time.now,
            leads=self.leads,
        )

    def _make_reflectors(self) -> list[Reflector]:
        pods = PodIntake(self._cache, self._wake)
        services = ServiceIntake(self._cache, self._wake, self._reconciler.schema_may_have_changed)
        return [
            Reflector(
                self._api,
                Collection(resource, scope),
                sink,
                counters=self._metrics,
                settings=self._settings,
                time=self._time,
            )
            for scope in self._options.namespaces or (EVERYWHERE,)
            for resource, sink in ((SERVICES, services), (PODS, pods))
        ]

    def _show(self) -> None:
        metrics = self._metrics
        metrics.show_queue(self._queue.load)
        metrics.show_cache(self._cache.sizes)
        metrics.show_leader(self._options.lease[1] if self._options.lease else "none", self.leads)
        metrics.workers(self._settings.workers)

    # --- waking

    def _wake(self, keys: Iterable[Key]) -> None:
        """Have services looked at soon: changes come in bursts, one look does for all."""
        settings, chance = self._settings, self._time.chance
        for key in keys:
            if not self._cache.synced(key[0]):
                # What is not listed yet is not missing; the list that is still to come wakes all.
                continue
            self._reconciler.touch(key)
            spread = settings.coalesce_most - settings.coalesce_least
            self._queue.add_after(key, settings.coalesce_least + spread * chance())

    def _wake_all(self) -> None:
        for key in self._cache.service_keys():
            self._queue.add(key)

    # --- threads

    def _start_all(self) -> None:
        if self._health:
            self._start("health", self._health.serve_forever)
        for reflector in self._reflectors:
            self._start(f"reflector {reflector.collection}", reflector.run)
        if self._lease:
            self._start("lease", self._lead)
        self._start("events", self._recorder.run)
        for number in range(self._settings.workers):
            self._start(f"worker {number}", self._work)

    def _start(self, name: str, target: Callable[[], object]) -> None:
        # Daemons: one that hangs in a request must not keep the process from ending.
        thread = threading.Thread(target=target, name=name, daemon=True)
        self._threads.append(thread)
        thread.start()

    def _work(self) -> None:
        while (key := self._queue.get()) is not None:
            began = self._time.monotonic()
            try:
                with self._metrics.working():
                    ended = self._reconciler.reconcile(key)
            except Exception:
                # A bug, or a service that nobody thought of: the others must not suffer.
                log.exception("unexpected, while a service was looked at", extra={"service": "/".join(key)})
                self._metrics.panicked()
                self._queue.retry(key)
                ended = Ended.ERROR
            finally:
                self._queue.done(key)
            self._metrics.ended(ended)
            self._metrics.reconciled(self._time.monotonic() - began)

    def _lead(self) -> None:
        assert self._lease is not None  # noqa: S101 - for the type checker: the thread is started only then
        led = False
        while not self._drained.is_set():
            self._lease_turned = self._time.monotonic()
            try:
                pause = self._lease.step()
            except Exception:
                log.exception("unexpected, while the lease was renewed")
                pause = self._settings.lease_retry
            leads = self._lease.valid()
            if leads and not led:
                # As a standby it decided, and wrote nothing of it.
                for key in self._reconciler.owed():
                    self._queue.add(key)
            led = leads
            self._drained.wait(pause)

    # --- living and ending

    def _supervise(self) -> int:
        next_resync = self._next_resync()
        settled = False
        while not self._stopping.wait(_SUPERVISE_SECONDS):
            dead = [thread.name for thread in self._threads if not thread.is_alive()]
            if dead:
                log.critical("ended before their time: %s", ", ".join(dead))
                return 1
            if not settled and not self._unready():
                settled = True
                # What was listed stays: the collector need not walk it again and again.
                gc.collect()
                gc.freeze()
            if self._time.monotonic() >= next_resync:
                next_resync = self._next_resync()
                self._wake_all()
        return 0

    def _next_resync(self) -> float:
        return self._time.monotonic() + self._settings.resync * (0.9 + 0.2 * self._time.chance())

    def _end(self) -> None:
        """Take nothing in, finish what is in hand, say what is to be said, give the lease away."""
        deadline = self._time.monotonic() + self._settings.drain
        log.info("stopping")
        for reflector in self._reflectors:
            reflector.stop()
        self._queue.close(grace=self._settings.coalesce_most)
        self._queue.drained(self._left(deadline, _EVENTS_SECONDS + _LEASE_SECONDS))
        self._recorder.close()
        self._join("events", self._left(deadline, _LEASE_SECONDS))
        self._drained.set()
        if self._lease and self._join("lease", self._left(deadline, 0.5)):
            self._lease.release()
        if self._health:
            self._health.shutdown()
            self._health.server_close()
        self._api.close()
        log.info("stopped")

    def _left(self, deadline: float, reserve: float) -> float:
        return max(0.0, deadline - reserve - self._time.monotonic())

    def _join(self, name: str, timeout: float) -> bool:
        """Wait for a thread; whether it has ended."""
        for thread in self._threads:
            if thread.name == name:
                thread.join(timeout)
                return not thread.is_alive()
        return True

    # --- health

    def _pages(self) -> dict[str, Callable[[], Page]]:
        return {
            "/healthz": lambda: verdict(self.hanging()),
            "/readyz": lambda: verdict(self._unready()),
            "/metrics": lambda: Page(ok=True, content_type=CONTENT_TYPE, body=self._metrics.text()),
        }

    def hanging(self) -> list[str]:
        """What does not turn any more: grounds to start the program anew. An API server that is away is none."""
        settings, now = self._settings, self._time.monotonic()
        found = [f"{thread.name} has ended" for thread in self._threads if not thread.is_alive()]
        longest_pause = _HANGS_SECONDS + max(settings.silence, settings.list_timeout)
        found += [
            f"reflector {reflector.collection} hangs"
            for reflector in self._reflectors
            if reflector.idle_seconds() > longest_pause
        ]
        if self._queue.load().longest_seconds > _HANGS_SECONDS + settings.write_timeout:
            found.append("a worker hangs")
        if self._lease and now - self._lease_turned > _HANGS_SECONDS:
            found.append("the lease is not looked at")
        return found if not self._stopping.is_set() else []

    def _unready(self) -> list[str]:
        scopes = self._options.namespaces or (EVERYWHERE,)
        return [
            f"{scope or 'the cluster'} is not listed yet" for scope in scopes if not self._cache.synced(scope)
        ]

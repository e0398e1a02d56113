"""``python -m reconciler status``: the same verdicts from a live cluster, printed. Writes nothing, holds no lease."""

from __future__ import annotations

import json
import threading
from typing import TYPE_CHECKING, Any, NamedTuple

import click

from reconciler.cache import EVERYWHERE, Cache, Key
from reconciler.commands import FAILED, FINE, FailedError, flags
from reconciler.decide import NOTHING_SEEN, Clock, Sightings, decide
from reconciler.intake import PodIntake, ServiceIntake
from reconciler.listing import RefusedError, list_all
from reconciler.reflector import Reflector
from reconciler.resource import PODS, SERVICES, Collection
from reconciler.time_source import SYSTEM
from reconciler.transport import Transport, UnreachableError
from reconciler.work_queue import WorkQueue

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reconciler.settings import Settings

_HELP = """Print what the status of services should be, from the pods that are there now.

SERVICE is NAME or NAMESPACE/NAME; without one, all. Nothing is written. A state that is given time before it is
called a fault is shown as it is stored.
"""
_COLUMNS = ("NAMESPACE", "NAME", "STATE", "READY", "CLOUD", "EDGE", "MESSAGE")


class Row(NamedTuple):
    """What the table shows of a service."""

    namespace: str
    name: str
    state: str
    ready: str
    cloud: str
    edge: str
    message: str


@click.command("status", help=_HELP)
@click.argument("services", nargs=-1, metavar="[SERVICE]...")
@click.option("--watch", is_flag=True, help="Go on, and print a service again whenever its status changes.")
@click.option(
    "--format",
    "form",
    type=click.Choice(["table", "json"]),
    default="table",
    show_default=True,
    help="What is printed; with --watch, JSON is one object a line.",
)
@flags.cluster
@flags.durations
def command(services: tuple[str, ...], watch: bool, form: str, **options: Any) -> int:
    settings = flags.settings_of(options)
    scopes = tuple(dict.fromkeys(options["namespace"])) or (EVERYWHERE,)
    api = flags.connect(options["kubeconfig"], options["context"], SYSTEM, connections=2 * len(scopes) + 1)
    judge = Judge(api, settings)
    if watch:
        _follow(api, judge, scopes, services, form)
        return FINE
    _list(api, judge.cache, scopes, settings)
    return _print_once(judge, services, form)


class Judge:
    """Decides about services of a cache, and remembers what must be remembered between two looks."""

    def __init__(self, api: Transport, settings: Settings) -> None:
        self.cache = Cache(SYSTEM.monotonic)
        self.settings = settings
        self._server_now = api.server_time.now
        self._seen: dict[Key, Sightings] = {}

    def status(self, key: Key) -> tuple[dict[str, Any] | None, float | None]:
        """What the status should be (None: no such service), and in how many seconds that may change by itself."""
        service, pods = self.cache.snapshot(key)
        if service is None:
            self._seen.pop(key, None)
            return None, None
        clock = Clock(SYSTEM.monotonic(), self._server_now())
        seen = self._seen.get(key, NOTHING_SEEN)
        decision = decide(service, pods, seen, clock, self.settings)
        self._seen[key] = decision.sightings
        return decision.status, decision.wake_after


def row_of(key: Key, status: dict[str, Any]) -> Row:
    """A status as the table shows it: the last condition's type is the state."""
    listed = status.get("conditions")
    found = {
        one.get("type"): one for one in (listed if isinstance(listed, list) else ()) if isinstance(one, dict)
    }
    ready = found.get("Ready", {})

    def reason(kind: str) -> str:
        return str(found.get(kind, {}).get("reason", "-"))

    state = str(list(found)[-1]) if found else "-"
    ready_status, message = str(ready.get("status", "-")), str(ready.get("message", ""))
    return Row(*key, state, ready_status, reason("CloudWorkerReady"), reason("EdgeWorkerReady"), message)


def _list(api: Transport, cache: Cache, scopes: Iterable[str], settings: Settings) -> None:
    try:
        for scope in scopes:
            for resource, replace in ((SERVICES, cache.replace_services), (PODS, cache.replace_pods)):
                found = list_all(
                    api,
                    Collection(resource, scope),
                    page_size=settings.page_size,
                    timeout=settings.list_timeout,
                )
                for poison in found.poison:
                    click.echo(f"skipped {poison.namespace}/{poison.name}: {poison.error}", err=True)
                replace(scope, found.items)
    except (RefusedError, UnreachableError) as problem:
        raise FailedError(f"the cluster cannot be read: {problem}") from problem


def _print_once(judge: Judge, services: tuple[str, ...], form: str) -> int:
    found = {}
    for key in sorted(judge.cache.service_keys()):
        status, _ = judge.status(key)
        if status is not None and _is_wanted(key, services):
            found[key] = status
    if form == "json":
        click.echo(json.dumps([_object(*item) for item in found.items()], indent=2, ensure_ascii=False))
    else:
        click.echo(table([row_of(*item) for item in found.items()]), nl=False)
    missing = [name for name in services if not any(_is_wanted(key, (name,)) for key in found)]
    for name in missing:
        click.echo(f"reconciler: error: there is no service {name}", err=True)
    return FAILED if missing else FINE


def _is_wanted(key: Key, services: tuple[str, ...]) -> bool:
    return not services or key[1] in services or "/".join(key) in services


def _object(key: Key, status: dict[str, Any] | None) -> dict[str, Any]:
    return {"namespace": key[0], "name": key[1], "status": status}


def table(rows: Iterable[Row], *, header: bool = True) -> str:
    """Columns as kubectl prints them."""
    lines: list[tuple[str, ...]] = [_COLUMNS] if header else []
    lines += [tuple(cell or "-" for cell in row) for row in rows]
    widths = [max((len(line[at]) for line in lines), default=0) for at in range(len(_COLUMNS) - 1)] + [0]
    return "".join("   ".join(map(str.ljust, line, widths)).rstrip() + "\n" for line in lines)


# --- watch


def _follow(
    api: Transport, judge: Judge, scopes: Iterable[str], services: tuple[str, ...], form: str
) -> None:
    """Print each service when it changes, until interrupted."""
    queue: WorkQueue[Key] = WorkQueue(SYSTEM.monotonic)
    _start_reflectors(api, judge, scopes, queue)
    printed: dict[Key, Any] = {}
    if form == "table":
        click.echo(table([]), nl=False)
    while True:
        key = queue.get(timeout=1.0)
        if key is None:
            continue
        queue.done(key)
        if not judge.cache.synced(key[0]) or not _is_wanted(key, services):
            continue
        status, wake_after = judge.status(key)
        if wake_after is not None:
            queue.add_after(key, wake_after + 0.01)
        # Times of an unwritten status are those of each look: they are no change.
        told = None if status is None else row_of(key, status)
        if printed.get(key) != told:
            printed[key] = told
            _print_change(key, status, form)


def _print_change(key: Key, status: dict[str, Any] | None, form: str) -> None:
    if form == "json":
        click.echo(json.dumps(_object(key, status), ensure_ascii=False))
    else:
        row = Row(*key, "Deleted", "-", "-", "-", "") if status is None else row_of(key, status)
        click.echo(table([row], header=False), nl=False)


def _start_reflectors(api: Transport, judge: Judge, scopes: Iterable[str], queue: WorkQueue[Key]) -> None:
    def wake(keys: Iterable[Key]) -> None:
        for key in keys:
            queue.add_after(key, judge.settings.coalesce_most)

    pods, services = PodIntake(judge.cache, wake), ServiceIntake(judge.cache, wake, lambda: None)
    for scope in scopes:
        for resource, sink in ((SERVICES, services), (PODS, pods)):
            reflector = Reflector(
                api,
                Collection(resource, scope),
                sink,
                counters=_NoCounters(),
                settings=judge.settings,
                time=SYSTEM,
            )
            threading.Thread(target=reflector.run, daemon=True).start()


class _NoCounters:
    def relisted(self, kind: str, reason: str) -> None:
        pass

    def undecodable(self, kind: str) -> None:
        pass

    def heard(self, kind: str, scope: str) -> None:
        pass

    def failed(self, kind: str) -> None:
        pass

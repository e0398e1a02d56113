"""Two replicas on one Lease in a real API server: one writes, and who was frozen past its Lease does not."""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable

from tests.controlplane import pod_states
from tests.controlplane.plane import wait_until
from tests.reconciler.real.site import Program, Site, conditions, holder

Start = Callable[..., Program]
QUICK = "--write-interval=0.1"  # seconds between two writes of one service


def _says(site: Site, worker: str, words: str) -> bool:
    return words in conditions(site.status())[f"{worker.capitalize()}WorkerReady"]["message"]


def changes(site: Site) -> None:
    """Things happen to the service, each of which is to be written."""
    for exit_code, worker in itertools.product((3, 4), site.pods):
        site.set(worker, pod_states.with_(pod_states.crash_loop, exit_code=exit_code))
        said = f"exit code {exit_code}"
        wait_until(functools.partial(_says, site, worker, said), f"{worker}: {said}")
    for worker in site.pods:
        site.set(worker, pod_states.running)
    site.wait_until_ready()


def test_a_leader_that_was_frozen_past_its_lease_writes_nothing(site: Site, start: Start) -> None:
    first = start(QUICK)
    site.create()
    site.wait_until_ready()
    second = start(QUICK)
    wait_until(second.is_synced, "the second to follow")
    assert holder(site.plane) == first.name
    assert second.writes(site) == []

    frozen_at = first.logged
    first.freeze()
    site.set("cloud", pod_states.with_(pod_states.crash_loop, exit_code=9))
    site.wait_for("Failed Ready=False/WorkerCrashLooping")
    assert holder(site.plane) == second.name
    assert second.writes(site) == ["written"]

    first.thaw()
    wait_until(
        lambda: any("no longer the leader" in str(line["message"]) for line in first.lines(frozen_at)),
        "the first to see that it does not lead",
    )
    changes(site)
    assert first.writes(offset=frozen_at) == []
    assert set(second.writes(site)) == {"written"}
    assert holder(site.plane) == second.name
    assert all(program.alive for program in (first, second))

    # And when the one that leads ends in order, the other is there at once.
    second.ask_to_end()
    wait_until(lambda: holder(site.plane) == first.name, "the first to lead again")
    site.set("edge", pod_states.with_(pod_states.crash_loop, exit_code=5))
    site.wait_for("Failed Ready=False/WorkerCrashLooping")


def test_SIGTERM_ends_it_and_gives_the_lease_away(site: Site, reconciler: Program) -> None:
    site.create()
    site.wait_until_ready()
    assert holder(site.plane) == reconciler.name

    assert reconciler.ask_to_end() < 10
    assert holder(site.plane) == ""
    assert [line["message"] for line in reconciler.lines()][-1] == "stopped"

"""Every row of the verdict table, before and after its grace, with and without something stored."""

from __future__ import annotations

from typing import NamedTuple

import pytest

from reconciler.case import Case, Circumstances
from reconciler.conditions import timestamp
from reconciler.reasons import REASONS
from reconciler.status import memories
from reconciler.verdict import TABLE
from tests.reconciler.heart.world import (
    CLOUD_POD,
    HOUR,
    NOW,
    SETTINGS,
    Object,
    World,
    away,
    condition,
    crash_loop,
    done,
    end,
    ended,
    pod,
    read,
    runs,
    stored,
    unanswered,
    unscheduled,
    waits,
)


class Row(NamedTuple):
    """The edge's pods, seen twice with some seconds in between; what is stored first; the verdict, words of its message."""

    pods: list[Object]
    reason: str
    after: float = 0.0
    stored: Object | None = None
    words: str = ""
    made: float = -HOUR


BACK_OFF = waits("ImagePullBackOff", 'Back-off pulling image "little:1": ErrImagePull: not found')
ERR_PULL = waits("ErrImagePull", "rpc error: code = NotFound desc = not found")
CREATING = waits("ContainerCreating")
INITIALIZING = waits("PodInitializing")
STORAGE = "storage-initializer"
GATES_NOT_READY = [
    condition("Ready", "False", "ReadinessGatesNotReady", 'condition "example.com/lb" does not exist'),
    condition("ContainersReady", "True"),
]
#: A worker without a probe that lives for five seconds: what is seen in one cycle of its crash loop.
FIVE_SECONDS = [
    pod({"model": runs(restarts=4, last=end(1))}),
    pod({"model": ended(1, restarts=4)}),
    pod({"model": crash_loop(1, restarts=4)}),
    pod({"model": runs(restarts=5, last=end(1))}),
]


def failed_pod(reason: str = "", message: str = "", **options: object) -> Object:
    status = {"reason": reason, "message": message} if reason else {}
    return pod({}, phase="Failed", conditions=[], status=status, **options)  # type: ignore[arg-type]


def edge(containers: dict[str, Object], **options: object) -> list[Object]:
    return [pod(containers, **options)]  # type: ignore[arg-type]


def model(one: Object, **options: object) -> list[Object]:
    return edge({"model": one}, **options)


NO_POD = {
    "nothing stored": Row([], "WorkerMissing", made=-30),
    "missing already": Row([], "WorkerMissing", stored=stored("WorkerMissing"), made=-30),
    "never came": Row([], "ProgressDeadlineExceeded", made=-600, words="600 s after the service was made"),
    "never came, one second before": Row([], "WorkerMissing", made=-599),
    "never came, and time passes": Row([], "ProgressDeadlineExceeded", made=-10, after=591),
    "never came, told already": Row(
        [], "ProgressDeadlineExceeded", stored=stored("ProgressDeadlineExceeded")
    ),
    "was ready a moment ago": Row([], "WorkerReady", stored=stored("WorkerReady", ready="True"), after=29),
    "was ready, 30 s": Row([], "WorkerGone", stored=stored("WorkerReady", ready="True"), after=30),
    "was crash-looping": Row([], "WorkerCrashLooping", stored=stored("WorkerCrashLooping"), after=29),
    "was starting, 30 s": Row([], "WorkerGone", stored=stored("WorkerStarting"), after=30),
    "was away, 30 s": Row([], "WorkerGone", stored=stored("EdgeUnreachable", ready="Unknown"), after=30),
    "gone already": Row([], "WorkerGone", stored=stored("WorkerGone")),
    "gone, however old the service": Row([], "WorkerGone", stored=stored("WorkerGone"), after=2000),
    "a stored reason that is not ours": Row([], "WorkerMissing", stored=stored("SomethingElse"), made=-5),
}

AWAY_ROWS = {
    "no reason": Row([away()], "EdgeUnreachable", words="has not reported since"),
    "cloud and edge differ in the reason": Row([away()], "EdgeUnreachable"),
    "being stopped": Row([away(deleted=-900)], "EdgeUnreachable"),
    "NodeLost": Row(model(runs(), conditions=[condition("Ready", "False", "NodeLost")]), "EdgeUnreachable"),
    "NodeStatusUnknown": Row(
        model(runs(), conditions=[condition("Ready", "False", "NodeStatusUnknown")]), "EdgeUnreachable"
    ),
    "ContainersReady not there, containers ready": Row(
        model(runs(), conditions=[condition("Ready", "False")]), "EdgeUnreachable"
    ),
    "phase Unknown": Row([pod(phase="Unknown")], "EdgeUnreachable"),
    "with a crash before": Row([away()], "EdgeUnreachable", stored=stored("WorkerCrashLooping")),
    "a readiness gate is another thing": Row(
        model(runs(), conditions=GATES_NOT_READY), "WorkerNotReady", after=10, words="ReadinessGatesNotReady"
    ),
    "ContainersReady speaks for its containers": Row(
        model(
            runs(ready=False), conditions=[condition("Ready", "False"), condition("ContainersReady", "True")]
        ),
        "EdgeUnreachable",
    ),
    "a pod that never ran": Row(
        model(CREATING, conditions=[condition("Ready", "False"), condition("ContainersReady", "True")]),
        "WorkerStarting",
    ),
    "containers that are not ready": Row(
        model(
            runs(ready=False), conditions=[condition("Ready", "False"), condition("ContainersReady", "False")]
        ),
        "WorkerNotReady",
        after=10,
    ),
    "a sidecar that is not ready": Row(
        [pod(sidecars={"proxy": runs(ready=False)}, conditions=[condition("Ready", "False")])],
        "WorkerNotReady",
        after=10,
    ),
}

STOPPING = {
    "within its grace": Row([pod(deleted=20)], "WorkerTerminating"),
    "60 s after its stamp, less one": Row([pod(deleted=0)], "WorkerTerminating", after=59),
    "60 s after its stamp": Row([pod(deleted=0)], "WorkerStuckTerminating", after=60),
    "long ago": Row([pod(deleted=-600)], "WorkerStuckTerminating"),
    "not ready while it stops": Row([pod({"model": runs(ready=False)}, deleted=20)], "WorkerTerminating"),
}

ENDED = {
    "Evicted": Row(
        [failed_pod("Evicted", "The node was low on resource: memory.")],
        "WorkerEvicted",
        words="low on resource",
    ),
    "node shutdown": Row([failed_pod("Terminated", "imminent node shutdown")], "WorkerEvicted"),
    "node shutdown at admission": Row([failed_pod("NodeShutdown", "being shut down")], "WorkerEvicted"),
    "preempted": Row([failed_pod("Preempting", "for a critical pod")], "WorkerEvicted"),
    "OutOfcpu": Row([failed_pod("OutOfcpu", "requested: 100")], "WorkerRejected", words="OutOfcpu"),
    "OutOf an extended resource": Row([failed_pod("OutOfnvidia.com/gpu")], "WorkerRejected"),
    "NodePorts": Row([failed_pod("NodePorts", "no free ports")], "WorkerRejected", words="no free ports"),
    "NodeAffinity": Row([failed_pod("NodeAffinity")], "WorkerRejected"),
    "a refusal that has no name yet": Row([failed_pod("SomethingNewForbidden")], "WorkerRejected"),
    "an exit code": Row(
        model(ended(3, message="no such file: model.pb"), phase="Failed", policy="Never"),
        "WorkerFailed",
        words="exit code 3",
    ),
    "the end of the log": Row(
        model(ended(3, message="no such file: model.pb"), phase="Failed", policy="Never"),
        "WorkerFailed",
        words="no such file: model.pb",
    ),
    "an init container": Row(
        [pod({"model": INITIALIZING}, init={"check": ended(7)}, phase="Failed", policy="Never")],
        "WorkerFailed",
        words="container check (exit code 7)",
    ),
    "a deadline": Row([failed_pod("DeadlineExceeded", "was active too long")], "WorkerFailed"),
    "no reason at all": Row([failed_pod()], "WorkerFailed"),
    "Succeeded": Row(model(ended(0), phase="Succeeded", policy="Never"), "WorkerCompleted"),
}

NOT_STARTED = {
    "scheduling gates": Row([unscheduled("SchedulingGated")], "WorkerGated"),
    "scheduling gates at once": Row([unscheduled("SchedulingGated", age=0)], "WorkerGated"),
    "no node, 14 s": Row([unscheduled(age=14)], "WorkerStarting", words="waits for a node"),
    "no node, 15 s": Row([unscheduled(age=15)], "WorkerUnschedulable", words="0/3 nodes are available"),
    "no node, and time passes": Row([unscheduled(age=0)], "WorkerUnschedulable", after=15),
    "no node yet, as before": Row(
        [unscheduled(age=0)], "WorkerUnschedulable", stored=stored("WorkerUnschedulable")
    ),
    "no node, the scheduler is silent": Row([pod({}, node="", conditions=[])], "WorkerUnschedulable"),
    "not answered for, 299 s": Row([unanswered(age=299)], "WorkerStarting"),
    "not answered for, 300 s": Row([unanswered(age=300)], "WorkerNotAcknowledged"),
    "not answered for, as before": Row(
        [unanswered(age=0)], "WorkerNotAcknowledged", stored=stored("WorkerNotAcknowledged")
    ),
    "bound late": Row(
        [pod({}, conditions=[condition("PodScheduled", "True", at=NOW - 20)])], "WorkerStarting", after=279
    ),
    "bound late, 300 s": Row(
        [pod({}, conditions=[condition("PodScheduled", "True", at=NOW - 20)])],
        "WorkerNotAcknowledged",
        after=280,
    ),
    "creating": Row(model(CREATING), "WorkerStarting", words="ContainerCreating"),
    "creating, unchanged for 599 s": Row(model(CREATING), "WorkerStarting", after=599),
    "creating, unchanged for 600 s": Row(
        model(CREATING), "ProgressDeadlineExceeded", after=600, words="kubectl describe pod helmet-edge"
    ),
    "creating for long, told already": Row(
        model(CREATING), "ProgressDeadlineExceeded", stored=stored("ProgressDeadlineExceeded")
    ),
    "creating, younger than the deadline that is stored": Row(
        model(CREATING, age=60), "WorkerStarting", stored=stored("ProgressDeadlineExceeded")
    ),
    "init containers done": Row(
        [pod({"model": INITIALIZING}, init={STORAGE: done()}, phase="Pending")],
        "WorkerStarting",
        words="PodInitializing",
    ),
    "a new pod after a crash": Row(model(CREATING), "WorkerStarting", stored=stored("WorkerCrashLooping")),
    "a sidecar that has not begun": Row(
        [pod({"model": INITIALIZING}, sidecars={"proxy": CREATING})], "WorkerStarting"
    ),
}

IMAGES = {
    "InvalidImageName": Row(
        model(waits("InvalidImageName", "couldn't parse")), "WorkerImageError", words="couldn't parse"
    ),
    "ErrImagePull": Row(model(ERR_PULL), "WorkerStarting", words="waits for the image of container model"),
    "ErrImagePull, 59 s": Row(model(ERR_PULL), "WorkerStarting", after=59),
    "ErrImagePull, 60 s": Row(model(ERR_PULL), "WorkerImageError", after=60, words="not found"),
    "ImagePullBackOff, 60 s": Row(model(BACK_OFF), "WorkerImageError", after=60),
    "as before": Row(model(BACK_OFF), "WorkerImageError", stored=stored("WorkerImageError")),
    "of a container that crashed": Row(
        model(waits("ImagePullBackOff", restarts=4, last=end(1))),
        "WorkerCrashLooping",
        stored=stored("WorkerCrashLooping"),
        after=59,
    ),
    "ErrImageNeverPull": Row(model(waits("ErrImageNeverPull")), "WorkerImageError", after=60),
    "an init container's": Row(
        [pod({"model": INITIALIZING}, init={STORAGE: BACK_OFF})], "WorkerImageError", after=60, words=STORAGE
    ),
    "a sidecar's": Row(
        [pod({"model": runs()}, sidecars={"proxy": BACK_OFF})], "WorkerImageError", after=60, words="proxy"
    ),
    **{
        f"{reason}, {after} s": Row(model(waits(reason, "secret not found")), verdict, after=after)
        for reason in ("CreateContainerConfigError", "CreateContainerError", "RunContainerError")
        for after, verdict in ((0, "WorkerStarting"), (59, "WorkerStarting"), (60, "WorkerConfigError"))
    },
    "config, as before": Row(
        model(waits("CreateContainerError")), "WorkerConfigError", stored=stored("WorkerConfigError")
    ),
    "config, between two crashes": Row(
        model(waits("RunContainerError", restarts=3, last=end(128, "StartError"))),
        "WorkerCrashLooping",
        stored=stored("WorkerCrashLooping"),
    ),
}


def initializing(**init: Object) -> list[Object]:
    return [pod({"model": INITIALIZING}, init={name.replace("_", "-"): one for name, one in init.items()})]


INIT = {
    "storage-initializer runs": Row(initializing(storage_initializer=runs(ready=False)), "ModelDownloading"),
    "it runs for hours": Row(
        initializing(storage_initializer=runs(ready=False)), "ModelDownloading", after=9000
    ),
    "another runs": Row(initializing(check=runs(ready=False)), "WorkerInitRunning", words="check"),
    "another runs after it": Row(
        initializing(storage_initializer=done(), check=runs(ready=False)), "WorkerInitRunning"
    ),
    "storage-initializer failed": Row(
        initializing(storage_initializer=ended(1, message="NoSuchBucket: models")),
        "ModelDownloadFailed",
        words='container storage-initializer (exit code 1): "NoSuchBucket: models"',
    ),
    "it waits for another try": Row(initializing(storage_initializer=crash_loop(1)), "ModelDownloadFailed"),
    "it runs again": Row(
        initializing(storage_initializer=runs(ready=False, restarts=1, last=end(1))), "ModelDownloadFailed"
    ),
    "another failed": Row(initializing(check=ended(5)), "WorkerInitFailed", words="exit code 5"),
    "it failed once and is done": Row(
        [pod({"model": CREATING}, init={"check": {**done(), "lastState": {"terminated": end(1)}}})],
        "WorkerStarting",
    ),
    "it failed, and its image is gone for a while": Row(
        initializing(storage_initializer=waits("ImagePullBackOff", restarts=1, last=end(1))),
        "ModelDownloadFailed",
        stored=stored("ModelDownloadFailed"),
        after=59,
    ),
    "a sidecar is no init container": Row(
        [pod({"model": runs()}, sidecars={"proxy": crash_loop(2)})],
        "WorkerCrashLooping",
        words="proxy (exit code 2)",
    ),
    "a sidecar that runs is none either": Row(
        [pod({"model": CREATING}, sidecars={"proxy": runs()})], "WorkerStarting"
    ),
}

CRASH = {
    "CrashLoopBackOff": Row(
        model(crash_loop(3)), "WorkerCrashLooping", words="container model (exit code 3)"
    ),
    "its second container": Row(
        edge({"model": runs(), "reporter": crash_loop(4)}),
        "WorkerCrashLooping",
        words="reporter (exit code 4)",
    ),
    "ended, two restarts": Row(model(ended(1, restarts=2)), "WorkerCrashLooping"),
    "ended well, two restarts": Row(model(ended(0, restarts=2)), "WorkerNotReady", after=10),
    "OOMKilled": Row(
        model(crash_loop(137, "OOMKilled")), "WorkerOOMKilled", words="exit code 137, OOMKilled"
    ),
    "killed for another reason": Row(model(crash_loop(137)), "WorkerCrashLooping"),
    "the end of the log": Row(
        model(crash_loop(1, message="out of cheese")), "WorkerCrashLooping", words="out of cheese"
    ),
    "not ready, a crash is stored": Row(
        model(runs(ready=False, restarts=4, last=end(1))),
        "WorkerCrashLooping",
        stored=stored("WorkerCrashLooping"),
        after=999,
    ),
    "ready, a crash is stored": Row(
        model(runs(restarts=4, last=end(1))),
        "WorkerCrashLooping",
        stored=stored("WorkerCrashLooping"),
        after=59,
    ),
    "ready for 60 s": Row(
        model(runs(restarts=4, last=end(1))), "WorkerReady", stored=stored("WorkerCrashLooping"), after=60
    ),
    "ready, its last run was longer": Row(
        model(runs(restarts=4, last=end(1, started=NOW - 500, finished=NOW - 200))),
        "WorkerOOMKilled",
        stored=stored("WorkerOOMKilled"),
        after=299,
    ),
    "ready as long as its last run": Row(
        model(runs(restarts=4, last=end(1, started=NOW - 500, finished=NOW - 200))),
        "WorkerReady",
        stored=stored("WorkerOOMKilled"),
        after=300,
    ),
    "ready for ten minutes is enough": Row(
        model(runs(restarts=4, last=end(1, started=NOW - 9e5, finished=NOW - 200))),
        "WorkerReady",
        stored=stored("WorkerOOMKilled"),
        after=600,
    ),
    "a new pod that never ended is not ready": Row(
        model(runs(ready=False)), "WorkerNotReady", stored=stored("WorkerCrashLooping"), after=10
    ),
    "ready, and nothing is stored": Row(model(runs(restarts=9, last=end(1))), "WorkerReady"),
    "Never: it is not started again": Row(
        edge({"model": ended(2), "reporter": runs()}, policy="Never"),
        "WorkerFailed",
        words="model (exit code 2)",
    ),
    "Never: ended well beside one that runs": Row(
        edge({"model": ended(0), "reporter": runs()}, policy="Never"), "WorkerNotReady", after=10
    ),
    "OnFailure: it is started again": Row(
        edge({"model": ended(2), "reporter": runs()}, policy="OnFailure"), "WorkerRestarted"
    ),
    "Never, and a crash is stored": Row(
        model(ended(2), policy="Never"), "WorkerFailed", stored=stored("WorkerCrashLooping")
    ),
    "a first end": Row(model(ended(1)), "WorkerRestarted", words="exit code 1"),
    "a first restart": Row(model(runs(ready=False, restarts=1, last=end(1))), "WorkerRestarted"),
    "a first restart that is never ready": Row(
        model(runs(ready=False, restarts=1, last=end(1))), "WorkerRestarted", after=999
    ),
    "a first restart after a crash": Row(
        model(runs(ready=False, restarts=1, last=end(1))),
        "WorkerCrashLooping",
        stored=stored("WorkerCrashLooping"),
    ),
}

LIVING = {
    "not ready, 9 s": Row(model(runs(ready=False)), "WorkerStarting", after=9),
    "not ready, 10 s": Row(
        model(runs(ready=False)), "WorkerNotReady", after=10, words="unready status: [model]"
    ),
    "not ready, was ready": Row(
        model(runs(ready=False)), "WorkerReady", stored=stored("WorkerReady", ready="True"), after=9
    ),
    "not ready, was restarted": Row(
        model(runs(ready=False)), "WorkerRestarted", stored=stored("WorkerRestarted")
    ),
    "not ready, was away": Row(
        model(runs(ready=False)), "EdgeUnreachable", stored=stored("EdgeUnreachable", ready="Unknown")
    ),
    "not ready, was gone": Row(model(runs(ready=False)), "WorkerStarting", stored=stored("WorkerGone")),
    "not ready, a liveness restart an hour ago": Row(
        model(
            runs(
                ready=False,
                restarts=1,
                last=end(137, started=NOW - 2 * HOUR, finished=NOW - HOUR),
                started=NOW - HOUR,
            )
        ),
        "WorkerNotReady",
        after=10,
    ),
    "readiness gates": Row(
        model(runs(), conditions=GATES_NOT_READY), "WorkerNotReady", after=10, words="example.com/lb"
    ),
    "ready": Row(model(runs()), "WorkerReady", words="pod helmet-edge on node edge-1 is ready"),
    "ready, after restarts": Row(model(runs(restarts=3, last=end(1))), "WorkerReady"),
    "ready with a sidecar": Row([pod(sidecars={"proxy": runs()}, init={STORAGE: done()})], "WorkerReady"),
}

TABLES = {
    "no pod": NO_POD,
    "away": AWAY_ROWS,
    "being stopped": STOPPING,
    "ended": ENDED,
    "not started": NOT_STARTED,
    "image": IMAGES,
    "init": INIT,
    "crash": CRASH,
    "living": LIVING,
}
ROWS = [
    pytest.param(row, id=f"{name}: {case}") for name, table in TABLES.items() for case, row in table.items()
]


@pytest.mark.parametrize("row", ROWS)
def test_the_edge_worker_is_judged_by_what_its_pod_shows(row: Row) -> None:
    world = World(status=row.stored or {}, metadata={"creationTimestamp": timestamp(NOW + row.made)})
    world = world.look(CLOUD_POD, *row.pods).look(CLOUD_POD, *row.pods, after=row.after)
    found = world.edge
    reason = REASONS[row.reason]
    assert (found["reason"], found["status"]) == (row.reason, reason.ready)
    assert row.words in found["message"]
    assert world.state == reason.state
    assert world.cloud["reason"] == "WorkerReady"


@pytest.mark.parametrize("row", ROWS)
def test_whoever_starts_anew_over_an_unchanged_world_writes_nothing(row: Row) -> None:
    world = World(status=row.stored or {}, metadata={"creationTimestamp": timestamp(NOW + row.made)})
    world = world.look(CLOUD_POD, *row.pods).look(CLOUD_POD, *row.pods, after=row.after)
    assert world.look(CLOUD_POD, *row.pods).patch is None
    assert world.restart().look(CLOUD_POD, *row.pods).patch is None


def test_every_reason_is_given_by_some_row() -> None:
    given = {row.reason for table in TABLES.values() for row in table.values()}
    assert given | {"CloudUnreachable"} == set(REASONS)


def test_a_cloud_node_that_is_away_has_its_own_reason() -> None:
    world = World().look(pod(), away(worker="cloud"))
    assert world.cloud["reason"] == "CloudUnreachable"
    assert world.state == "Running"


def test_every_row_of_the_table_decides_some_case() -> None:
    at = Circumstances("edge", None, HOUR, NOW, {}, SETTINGS)
    used = set()
    for table in TABLES.values():
        for row in table.values():
            memory = memories({"EdgeWorkerReady": row.stored["conditions"][0]} if row.stored else {})["edge"]
            for one in row.pods:
                case = Case(read(one), memory, at._replace(memory=memory))
                used.add(next(name for name, check in TABLE if check(case) is not None))
    assert used == {name for name, _ in TABLE}


@pytest.mark.parametrize("cycle", range(3))
def test_a_worker_that_lives_five_seconds_never_reads_ready_once_it_is_known_to_crash(cycle: int) -> None:
    world = World().look(CLOUD_POD, pod({"model": crash_loop(1, restarts=3)}))
    for _ in range(cycle + 1):
        for one in FIVE_SECONDS:
            world = world.look(CLOUD_POD, one, after=5)
            assert world.edge["reason"] == "WorkerCrashLooping"
            assert world.patch is None, "one cycle is like the other"


@pytest.mark.parametrize("start", [ERR_PULL, BACK_OFF], ids=["ErrImagePull", "ImagePullBackOff"])
def test_the_spellings_of_an_image_error_are_one_fault_with_one_grace(start: Object) -> None:
    world = World().look(CLOUD_POD, *model(start))
    for seconds in range(0, 60, 20):
        assert world.edge["reason"] == "WorkerStarting", seconds
        world = world.look(CLOUD_POD, *model([ERR_PULL, BACK_OFF][seconds // 20 % 2]), after=20)
    assert world.edge["reason"] == "WorkerImageError"
    for one in (ERR_PULL, BACK_OFF, ERR_PULL):
        world = world.look(CLOUD_POD, *model(one), after=7)
        assert world.patch is None


def test_a_starting_pod_that_gets_on_has_the_whole_time_again() -> None:
    first = [pod({"model": INITIALIZING}, init={"a": CREATING, "b": INITIALIZING})]
    second = [pod({"model": INITIALIZING}, init={"a": done(), "b": INITIALIZING})]
    world = World().look(CLOUD_POD, *first).look(CLOUD_POD, *second, after=500)
    assert world.look(CLOUD_POD, *second, after=599).edge["reason"] == "WorkerStarting"
    assert world.look(CLOUD_POD, *second, after=600).edge["reason"] == "ProgressDeadlineExceeded"


def test_two_containers_that_crash_in_turns_give_one_reason_and_one_text() -> None:
    first = pod({"a": crash_loop(137, "OOMKilled"), "b": runs(restarts=4, last=end(1))})
    second = pod({"a": runs(restarts=4, last=end(137, "OOMKilled")), "b": crash_loop(1)})
    world = World().look(CLOUD_POD, first)
    assert world.edge["reason"] == "WorkerOOMKilled"
    assert world.look(CLOUD_POD, second, after=20).patch is None

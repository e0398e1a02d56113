"""The published reasons. A worker's reason belongs to exactly one state, so that a stored condition says all.

Data only. A reason that is taken away or moved to another state breaks what people wait for and alert on.
"""

from __future__ import annotations

from typing import Final, NamedTuple

#: The three states of a service, and of each worker; the names of conditions that Sedna's dashboards read.
PENDING: Final = "Pending"
RUNNING: Final = "Running"
FAILED: Final = "Failed"

TRUE: Final = "True"
FALSE: Final = "False"
UNKNOWN: Final = "Unknown"


class Reason(NamedTuple):
    """Why a worker is as it is: the state this means, and the status of its condition."""

    name: str
    state: str
    ready: str
    meaning: str
    remedy: str


WORKER_REASONS: Final = (
    # --- Pending: there is no pod, or one that never ran ------------------------------------------
    Reason(
        "WorkerMissing", PENDING, FALSE, "no pod of this worker was ever seen", "apply the rendered manifests"
    ),
    Reason(
        "WorkerGated",
        PENDING,
        FALSE,
        "the pod has scheduling gates",
        "see who set the gates, such as a queue",
    ),
    Reason(
        "WorkerUnschedulable",
        PENDING,
        FALSE,
        "the scheduler finds no node",
        "the message quotes the scheduler: a node selector, a taint, a resource",
    ),
    Reason(
        "WorkerNotAcknowledged",
        PENDING,
        FALSE,
        "the pod has a node that never answered",
        "see whether the node is connected; on an edge, whether edgecore runs",
    ),
    Reason(
        "WorkerStarting",
        PENDING,
        FALSE,
        "the pod is being made ready; the message says what it waits for",
        "wait",
    ),
    Reason(
        "ModelDownloading",
        PENDING,
        FALSE,
        "the init container storage-initializer fetches the model",
        "wait; `kubectl logs POD -c storage-initializer`",
    ),
    Reason(
        "WorkerInitRunning",
        PENDING,
        FALSE,
        "another init container runs",
        "wait; `kubectl logs POD -c CONTAINER`",
    ),
    # --- Running: it has run and may run again, or what is known last says so ---------------------
    Reason(
        "WorkerReady", RUNNING, TRUE, "at least one pod is ready; the message names a bad sibling", "none"
    ),
    Reason(
        "WorkerRestarted", RUNNING, FALSE, "a container ended for the first time and is not ready", "wait"
    ),
    Reason(
        "WorkerNotReady",
        RUNNING,
        FALSE,
        "the containers run, the pod is not ready: a probe or a readiness gate",
        "`kubectl describe pod POD`",
    ),
    Reason("WorkerTerminating", RUNNING, FALSE, "the pod is being stopped and there is no newer one", "wait"),
    Reason(
        "WorkerStuckTerminating",
        RUNNING,
        UNKNOWN,
        "the pod should have stopped long ago: its node does not confirm it",
        "bring the node back; if it is gone for good, `kubectl delete pod POD --force`",
    ),
    Reason(
        "EdgeUnreachable",
        RUNNING,
        UNKNOWN,
        "the edge node does not report; with edge autonomy the worker probably goes on",
        "see the node's network; nothing has failed",
    ),
    Reason(
        "CloudUnreachable",
        RUNNING,
        UNKNOWN,
        "the cloud node does not report",
        "`kubectl describe node NODE`",
    ),
    # --- Failed: somebody must do something; it recovers all the same -----------------------------
    Reason(
        "WorkerGone", FAILED, FALSE, "there was a pod, and there is none now", "apply the manifests again"
    ),
    Reason(
        "ProgressDeadlineExceeded",
        FAILED,
        FALSE,
        "no pod long after the service was made, or a pod that starts and starts",
        "`kubectl describe pod POD`; most often a hostPath folder that the node does not have",
    ),
    Reason(
        "WorkerEvicted",
        FAILED,
        FALSE,
        "the node stopped the pod: pressure, a shutdown, a more important pod",
        "make room on the node; a pod without a Deployment must be applied again",
    ),
    Reason(
        "WorkerRejected",
        FAILED,
        FALSE,
        "the node did not take the pod: resources, ports, affinity",
        "free what the message names, then apply again",
    ),
    Reason(
        "WorkerFailed", FAILED, FALSE, "the worker ended badly and is not started again", "`kubectl logs POD`"
    ),
    Reason(
        "WorkerCompleted",
        FAILED,
        FALSE,
        "the worker ended well; an inference service does not end",
        "see why the program ends; set `restartPolicy: Always`",
    ),
    Reason(
        "WorkerImageError",
        FAILED,
        FALSE,
        "an image cannot be pulled",
        "see the image's name, the registry, imagePullSecrets, and what the node can reach",
    ),
    Reason(
        "WorkerConfigError",
        FAILED,
        FALSE,
        "a container cannot be made or started",
        "the message quotes the kubelet: a missing Secret or ConfigMap, a wrong command",
    ),
    Reason(
        "ModelDownloadFailed",
        FAILED,
        FALSE,
        "storage-initializer could not fetch the model; the message has the end of its log",
        "see the Model's url and its credential",
    ),
    Reason(
        "WorkerInitFailed",
        FAILED,
        FALSE,
        "another init container failed; the message has the end of its log",
        "`kubectl logs POD -c CONTAINER`",
    ),
    Reason(
        "WorkerCrashLooping",
        FAILED,
        FALSE,
        "a container ends again and again, even if it is ready for a while in between",
        "`kubectl logs POD -c CONTAINER --previous`",
    ),
    Reason(
        "WorkerOOMKilled",
        FAILED,
        FALSE,
        "a container ends again and again, at last for want of memory",
        "raise its memory limit or make the model smaller",
    ),
)

#: Worker reasons by name.
REASONS: Final = {reason.name: reason for reason in WORKER_REASONS}

#: Reasons that mean that a container crashes; they end only by a time without a crash.
CRASHES: Final = frozenset({"WorkerCrashLooping", "WorkerOOMKilled"})

#: Reasons of the service's own conditions, beside those of its workers; with what they mean.
ALL_WORKERS_READY: Final = "AllWorkersReady"
ALL_WORKERS_ACTIVE: Final = "AllWorkersActive"
LIVE_POD_MISSING: Final = "LivePodMissing"
OTHER_STATE: Final = "OtherState"
SERVICE_REASONS: Final = {
    ALL_WORKERS_READY: "every worker serves (`Ready`, `Running`)",
    ALL_WORKERS_ACTIVE: "every worker has a live pod (`Active`)",
    LIVE_POD_MISSING: "a worker has no pod that is neither ended nor being stopped (`Active`)",
    OTHER_STATE: "another one of `Pending`, `Running` and `Failed` is True",
}

#: Reasons of events alone.
NOT_JUDGED: Final = "StatusNotJudged"
CONTESTED: Final = "StatusContested"
REFUSED: Final = "StatusRefused"
EVENT_REASONS: Final = {
    NOT_JUDGED: "Sedna's controller wrote this status, and no pod carries this service's labels: nothing is written",
    CONTESTED: "another controller keeps changing this status: from now on it is written rarely",
    REFUSED: "the API server refused the status: nothing is written until the service or its pods change",
}

"""Every duration and limit of the reconciler, in one frozen value. Data only: reads nothing."""

from __future__ import annotations

from dataclasses import dataclass

#: Who we are in managedFields.
FIELD_MANAGER = "sedna-reconciler"


@dataclass(frozen=True, slots=True)
class Settings:
    """What may be set by flags. Durations are seconds.

    A grace runs from the first sight of a state; an age counts from a stamp of the API server.
    """

    # --- the verdicts -----------------------------------------------------------------------------
    #: A pod that was there is missing: as stored until then, WorkerGone after.
    gone_grace: float = 30.0
    #: Age of a service without any pod, or time in which a starting pod shows no change.
    progress_deadline: float = 600.0
    #: After deletionTimestamp, which already includes the pod's own grace period.
    terminating_grace: float = 60.0
    #: Age of a pod that has no node.
    unscheduled_grace: float = 15.0
    #: Age of a pod whose node never said anything about it.
    not_acknowledged_grace: float = 300.0
    #: An image that cannot be pulled, a container that cannot be made: often repaired by a retry.
    image_grace: float = 60.0
    #: Not ready: probes flap.
    not_ready_grace: float = 10.0
    #: A crash is over when all containers have been ready for this long ...
    crash_recovery: float = 60.0
    #: ... or as long as the run before it lasted, but never for longer than this.
    crash_recovery_limit: float = 600.0

    # --- another writer of the same status --------------------------------------------------------
    #: So many changes of our fields by others ...
    rival_changes: int = 3
    #: ... within this time make the status contested.
    rival_window: float = 600.0

    # --- reading from the API server --------------------------------------------------------------
    #: A watch is asked for between this long and twice as long.
    watch_timeout: float = 300.0
    #: After so long without a byte the server is asked whether it is there and time went on.
    silence: float = 90.0
    #: For that question.
    probe_timeout: float = 10.0
    #: For one page of a list, and for a watch to begin.
    list_timeout: float = 60.0
    #: Objects a page.
    page_size: int = 500
    #: A full list sooner after the last one is put off by the back-off.
    list_interval: float = 30.0
    #: After a list or a watch that failed: so long, times [1, 2), twice as long each time ...
    backoff_first: float = 0.8
    #: ... up to this ...
    backoff_longest: float = 30.0
    #: ... and short again after so long without a failure.
    backoff_reset: float = 120.0
    #: For so long a server's own errors make the watch be tried again, then a full list.
    server_error_limit: float = 60.0

    # --- deciding and writing ---------------------------------------------------------------------
    #: Threads that decide and write.
    workers: int = 4
    #: A change waits for others between so long ...
    coalesce_least: float = 0.05
    #: ... and so long.
    coalesce_most: float = 0.2
    #: The least time between two writes of one service ...
    write_interval: float = 1.0
    #: ... and of one that another controller keeps changing.
    contested_interval: float = 300.0
    #: Writes a second, of all services ...
    write_rate: float = 100.0
    #: ... and at once, after a quiet time.
    write_burst: float = 200.0
    #: For one write.
    write_timeout: float = 30.0
    #: A service waits at most so long for the watch to bring our own last write of it.
    barrier: float = 90.0
    #: After a failure a service is tried again in so long, then twice as long ...
    retry_first: float = 0.2
    #: ... up to this.
    retry_longest: float = 60.0
    #: Everything is decided anew every so often, a tenth more or less.
    resync: float = 36_000.0
    #: From the first signal to the end.
    drain: float = 10.0

    # --- the lease --------------------------------------------------------------------------------
    #: Others take over so long after the last renewal.
    lease_duration: float = 15.0
    #: The holder stops writing so long after it.
    lease_renew_deadline: float = 10.0
    #: Between two renewals.
    lease_retry: float = 2.0
    #: For one request.
    lease_timeout: float = 5.0

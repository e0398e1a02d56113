"""The flags that commands share, each with its environment variable, and what is made of them."""

from __future__ import annotations

import math
import os
from dataclasses import fields
from typing import TYPE_CHECKING, Any

import click

from reconciler import transport
from reconciler.commands import FailedError
from reconciler.settings import Settings

if TYPE_CHECKING:
    from collections.abc import Callable

    from reconciler.metrics import Metrics
    from reconciler.time_source import TimeSource

    Command = Callable[..., Any]

PREFIX = "RECONCILER_"
USER_AGENT = "sedna-reconciler"
_IN_CLUSTER = "KUBERNETES_SERVICE_HOST"

#: Help for each setting, in the order of their fields. Seconds, but for the three counts.
SETTINGS = {
    "gone_grace": "A pod that was there is missing: Failed after so long.",
    "progress_deadline": "Failed: a service without any pod, a starting pod without a change.",
    "terminating_grace": "After a pod's deletion was due: stuck.",
    "unscheduled_grace": "A pod without a node: unschedulable.",
    "not_acknowledged_grace": "A pod whose node says nothing of it.",
    "image_grace": "Image and configuration errors: Failed after so long.",
    "not_ready_grace": "Not ready: told after so long.",
    "crash_recovery": "Ready without a restart: a crash is over.",
    "crash_recovery_limit": "At most, however long the run before the crash was.",
    "rival_changes": "Changes of our fields by another controller ...",
    "rival_window": "... within so long: contested.",
    "watch_timeout": "A watch lasts so long, up to twice as long.",
    "silence": "Without a byte: ask whether the server is there.",
    "probe_timeout": "For that question.",
    "list_timeout": "For one page of a list, and for a watch to begin.",
    "page_size": "Objects a page of a list.",
    "list_interval": "A full list sooner after the last is put off.",
    "backoff_first": "After a list or watch that failed, doubled ...",
    "backoff_longest": "... up to this (and up to twice, by chance) ...",
    "backoff_reset": "... short again after so long without a failure.",
    "server_error_limit": "A watch is tried in spite of server errors.",
    "workers": "Threads that decide and write.",
    "coalesce_least": "A change waits for others, at least ...",
    "coalesce_most": "... and at most.",
    "write_interval": "Between two writes of one service.",
    "contested_interval": "The same, where another controller writes too.",
    "write_rate": "Writes a second, of all services ...",
    "write_burst": "... and so many at once.",
    "write_timeout": "For one write.",
    "barrier": "Waiting for the watch to bring an own write.",
    "retry_first": "After a failure a service is tried again in ...",
    "retry_longest": "... doubled up to this.",
    "resync": "Everything is decided anew.",
    "drain": "From SIGTERM to the end.",
    "lease_duration": "Others take over so long after a renewal.",
    "lease_renew_deadline": "The holder stops writing so long after it.",
    "lease_retry": "Between two renewals.",
    "lease_timeout": "For one request about the lease.",
}


def variable(name: str) -> str:
    """The environment variable of a flag."""
    return PREFIX + name.upper()


def option(name: str, **attributes: Any) -> Callable[[Command], Command]:
    """An option that may also be given by an environment variable."""
    words = name.replace("_", "-")
    flag = f"--{words}/--no-{words}" if attributes.get("is_flag") else f"--{words}"
    return click.option(
        flag,
        *(["-n"] if name == "namespace" else []),
        name,
        **{"envvar": variable(name), "show_envvar": True, **attributes},
    )


def cluster(command: Command) -> Command:
    """Add which cluster, and which namespaces of it."""
    options = (
        option(
            "namespace",
            multiple=True,
            metavar="NAME",
            help="Watch this namespace only; may be repeated. Else the whole cluster. In the variable: with spaces.",
        ),
        option(
            "kubeconfig",
            metavar="FILE",
            help="Reach the cluster as this file says. Else by the pod's service account, or as kubectl does.",
        ),
        option("context", metavar="NAME", help="The context of the kubeconfig file."),
    )
    return _decorate(command, options)


def durations(command: Command) -> Command:
    """Add a flag for every setting."""
    options = []
    for field in fields(Settings):
        whole = isinstance(field.default, int)
        limits = click.IntRange(min=1) if whole else click.FloatRange(min=0.0, min_open=True)
        options.append(
            option(
                field.name,
                type=limits,
                default=field.default,
                show_default=True,
                metavar="NUMBER" if whole or field.name in ("write_rate", "write_burst") else "SECONDS",
                help=SETTINGS[field.name],
            )
        )
    return _decorate(command, options)


def _decorate(command: Command, options: Any) -> Command:
    for decorate in reversed(options):
        command = decorate(command)
    return command


def settings_of(options: dict[str, Any]) -> Settings:
    """The settings; a usage error where they contradict each other."""
    settings = Settings(**{name: options[name] for name in SETTINGS})
    for name in SETTINGS:
        if not math.isfinite(options[name]):
            raise click.UsageError(f"--{name.replace('_', '-')} must be a finite number.")
    for smaller, larger in (
        ("coalesce_least", "coalesce_most"),
        ("lease_retry", "lease_renew_deadline"),
        ("lease_timeout", "lease_renew_deadline"),
        ("lease_renew_deadline", "lease_duration"),
        ("retry_first", "retry_longest"),
        ("backoff_first", "backoff_longest"),
        ("crash_recovery", "crash_recovery_limit"),
    ):
        if getattr(settings, smaller) > getattr(settings, larger):
            flags = [f"--{name.replace('_', '-')}" for name in (smaller, larger)]
            raise click.UsageError(f"{flags[0]} must not be more than {flags[1]}.")
    if settings.lease_renew_deadline >= settings.lease_duration:
        raise click.UsageError("--lease-renew-deadline must be less than --lease-duration.")
    if settings.lease_duration != int(settings.lease_duration):
        raise click.UsageError("--lease-duration must be whole seconds: a Lease holds no others.")
    return settings


def connect(
    kubeconfig: str | None,
    context: str | None,
    time: TimeSource,
    *,
    connections: int,
    metrics: Metrics | None = None,
) -> transport.Transport:
    """The API server that the flags name; FailedError where nothing says which."""
    inside = not kubeconfig and not context and _IN_CLUSTER in os.environ
    file = kubeconfig or os.environ.get("KUBECONFIG") or "~/.kube/config"
    load = transport.in_cluster if inside else transport.from_kubeconfig(file, context)
    counted = {"counted": metrics.requested} if metrics else {}
    try:
        return transport.Transport(load, time, user_agent=USER_AGENT, connections=connections, **counted)
    except Exception as problem:
        # Whatever the kubernetes package, a login helper or a certificate has to say against it.
        source = "the pod's service account" if inside else f"the kubeconfig {file}"
        raise FailedError(
            f"cannot connect by {source}: {problem}\n  help: give --kubeconfig FILE"
        ) from problem

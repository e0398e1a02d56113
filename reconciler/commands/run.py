"""``python -m reconciler run``: the program in the cluster."""

from __future__ import annotations

import faulthandler
import logging
import os
import signal
import socket
from typing import TYPE_CHECKING, Any

import click

from reconciler import json_log
from reconciler.commands import FAILED, FINE, FailedError, flags
from reconciler.controller import Controller, Options
from reconciler.metrics import Metrics
from reconciler.time_source import SYSTEM

if TYPE_CHECKING:
    from types import FrameType

log = logging.getLogger(__name__)

_NAMESPACE_FILE = "/var/run/secrets/kubernetes.io/serviceaccount/namespace"

_HELP = """Watch pods and services, and write the status of the services.

It creates and deletes nothing; beside the status it writes Events and its own Lease. SIGTERM ends it within
--drain seconds, a second one at once; SIGUSR1 prints what every thread is doing.
"""


@click.command("run", help=_HELP)
@flags.cluster
@flags.option(
    "listen",
    default=":8080",
    show_default=True,
    metavar="[HOST]:PORT",
    help="Serve /healthz, /readyz, /metrics.",
)
@flags.option(
    "leader_elect",
    is_flag=True,
    default=True,
    show_default=True,
    help="Write only while holding a Lease. Without: for one replica, such as a first try from a desk.",
)
@flags.option("lease_name", default="sedna-reconciler", show_default=True, metavar="NAME", help="The Lease.")
@flags.option("lease_namespace", metavar="NAME", help="Its namespace. Else the pod's own, or `default`.")
@flags.option("identity", metavar="NAME", help="Who we are in the Lease and in Events. Else the host's name.")
@flags.option(
    "log_level",
    type=click.Choice(["debug", "info", "warning", "error"]),
    default="info",
    show_default=True,
    help="What is logged, to standard error.",
)
@flags.option(
    "log_format",
    type=click.Choice(["json", "text"]),
    default="json",
    show_default=True,
    help="The form of logs.",
)
@flags.durations
def command(**options: Any) -> int:
    settings = flags.settings_of(options)
    json_log.set_up(options["log_level"], SYSTEM.monotonic, as_json=options["log_format"] == "json")
    metrics = Metrics()
    namespaces = tuple(dict.fromkeys(options["namespace"]))
    # A watch holds its connection for good; the lease, events, and a probe each need one at times.
    connections = 2 * max(1, len(namespaces)) + settings.workers + 3
    api = flags.connect(
        options["kubeconfig"], options["context"], SYSTEM, connections=connections, metrics=metrics
    )
    try:
        controller = Controller(api, _options(options, namespaces), settings, metrics, SYSTEM)
    except (OSError, ValueError, OverflowError) as problem:
        raise FailedError(f"cannot listen at {options['listen']}: {problem}") from problem
    _obey_signals(controller)
    log.info("started", extra={"server": api.host, "namespaces": list(namespaces) or "all"})
    return FAILED if controller.run() else FINE


def _options(options: dict[str, Any], namespaces: tuple[str, ...]) -> Options:
    host = options["identity"] or socket.gethostname()
    lease = (options["lease_namespace"] or _own_namespace(), options["lease_name"])
    return Options(
        namespaces=namespaces,
        listen=options["listen"],
        lease=lease if options["leader_elect"] else None,
        # A container that is started again has the host name of the one before, and not its lease.
        identity=f"{host}_{os.urandom(4).hex()}",
    )


def _own_namespace() -> str:
    try:
        with open(_NAMESPACE_FILE, encoding="utf-8") as file:
            return file.read().strip() or "default"
    except OSError:
        return "default"


def _obey_signals(controller: Controller) -> None:
    asked: list[int] = []

    def end(number: int, _frame: FrameType | None) -> None:
        if asked:
            # Asked twice: whoever asks has lost patience. As process 1 there is no default to fall back on.
            os._exit(FAILED)
        asked.append(number)
        controller.stop()

    signal.signal(signal.SIGTERM, end)
    signal.signal(signal.SIGINT, end)
    faulthandler.register(signal.SIGUSR1, all_threads=True)

"""Which pods belong to a service, and to which of its workers. Pure."""

from __future__ import annotations

from typing import TYPE_CHECKING, NamedTuple

from sedna_api import WORKER_TYPES, WorkerType

if TYPE_CHECKING:
    from collections.abc import Iterable

    from reconciler.records import Pod, Service


class Observation(NamedTuple):
    """The pods of a service by worker, newest first, and those that say they belong to it and are no worker."""

    workers: dict[WorkerType, tuple[Pod, ...]]
    foreign: tuple[Pod, ...]

    @property
    def active(self) -> int:
        """Live pods, as Sedna's own controller counts them."""
        return sum(pod.is_live for pods in self.workers.values() for pod in pods)


def observe(service: Service, pods: Iterable[Pod]) -> Observation:
    """The pods that are this service's, in an order that does not depend on theirs."""
    mine = sorted((pod for pod in pods if belongs(pod, service)), key=age_key, reverse=True)
    workers = {worker: tuple(pod for pod in mine if pod.worker == worker) for worker in WORKER_TYPES}
    return Observation(workers, tuple(pod for pod in mine if pod.worker is None))


def belongs(pod: Pod, service: Service) -> bool:
    """By label in the same namespace; a uid must match where the pod has one: namesakes come and go."""
    named = (pod.namespace, pod.service) == (service.namespace, service.name)
    return named and pod.owner_uid in ("", service.uid)


def age_key(pod: Pod) -> tuple[float, str, str]:
    """Sorts pods from old to young."""
    return pod.created, pod.name, pod.uid

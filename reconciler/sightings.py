"""When a state was seen first: what graces are counted from, of states whose own times cannot be trusted.

Pure: a mapping that the controller keeps for each service and hands back; it may be lost at any time.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Final

from reconciler import pod_facts

if TYPE_CHECKING:
    from collections.abc import Iterable, Iterator, Mapping

    from reconciler.records import Pod

#: By uid of the pod (empty: no pod) and state, the monotonic time of the first sight.
Sightings = dict[tuple[str, str], float]

NOTHING_SEEN: Final[Sightings] = {}

IMAGE_ERROR: Final = "image error"
CONFIG_ERROR: Final = "config error"
NOT_READY: Final = "not ready"
STARTING: Final = "starting"
READY: Final = "ready"
GONE: Final = "gone"


def states(pod: Pod, *, is_recovering: bool) -> Iterator[tuple[str, str]]:
    """The states of a pod whose age matters: the name, and what else must stay the same for it to grow older."""
    if pod.is_ready:
        if is_recovering:
            yield READY, str(pod_facts.restarts(pod))
        return
    if pod_facts.waiting(pod, pod_facts.IMAGE_ERRORS.__contains__):
        yield IMAGE_ERROR, ""
    if pod_facts.waiting(pod, pod_facts.CONFIG_ERRORS.__contains__):
        yield CONFIG_ERROR, ""
    if pod.phase not in ("Pending", ""):
        if not pod_facts.node_is_away(pod):
            yield NOT_READY, ""
    elif pod_facts.is_acknowledged(pod):
        yield STARTING, pod_facts.progress(pod)


def renew(old: Mapping[tuple[str, str], float], seen: Iterable[tuple[str, str]], now: float) -> Sightings:
    """What is seen now, since when; what is seen no more is forgotten."""
    return {key: old.get(key, now) for key in seen}

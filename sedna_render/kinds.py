"""Is an object one of ours: by its apiVersion and kind, and what was meant where they are nearly right. Pure.

An object that is passed over by mistake is one whose manifests disappear: a near miss is an error.
"""

from __future__ import annotations

from typing import NamedTuple

from sedna_api import API_VERSION, GROUP, KIND_MODEL, KIND_SERVICE, VERSION

#: Groups that Sedna's kinds lived in before its first release; the schema words the error.
OLD_GROUPS = frozenset({"neptune.io", "edgeai.io"})
SEDNA_KINDS = (KIND_SERVICE, KIND_MODEL)
#: What else is read: of core/v1.
CORE_KINDS = ("Node", "Secret")

_NEAR = 0.85


class Mistake(NamedTuple):
    """An apiVersion or kind that is nearly right."""

    rule: str
    field: str
    message: str
    remedy: str


def identify(api_version: str, kind: str) -> str | Mistake | None:
    """The kind that is taken in, None for one that is passed over, or the mistake in it."""
    group = api_version.rpartition("/")[0]
    if kind in SEDNA_KINDS:
        if api_version == API_VERSION or group in OLD_GROUPS:
            return kind
        return _wrong_version(api_version, kind) if kind == KIND_SERVICE or _is_like_ours(group) else None
    if kind in CORE_KINDS:
        return kind if api_version == "v1" else None
    # InferenceService of another group is somebody else's, however near its name is.
    meant = _meant(kind)
    if meant and _is_like_ours(group):
        message = f"there is no kind {kind} (did you mean {meant}?)"
        return Mistake("unknown-kind", "kind", message, f"write kind: {meant}")
    return None


def _wrong_version(api_version: str, kind: str) -> Mistake:
    return Mistake(
        "unknown-api-version",
        "apiVersion",
        f"there is no {kind} in {api_version} ({API_VERSION} would be right)",
        f"write apiVersion: {API_VERSION}",
    )


def _is_like_ours(group: str) -> bool:
    """Whether a group is Sedna's, no group at all (which no Model has), or Sedna's with a slip of the pen."""
    return (
        group in ("", GROUP, VERSION)
        or group.lower().startswith("sedna")
        or group in OLD_GROUPS
        or _near(group, GROUP)
    )


def _meant(kind: str) -> str:
    """Which of Sedna's kinds a text nearly is, or ""; Sedna's other kinds are far from these two."""
    return next((ours for ours in SEDNA_KINDS if _near(kind.lower(), ours.lower())), "")


def _near(text: str, wanted: str) -> bool:
    import difflib  # noqa: PLC0415 - only for a kind or a group that is none of ours

    return difflib.SequenceMatcher(None, text, wanted).ratio() >= _NEAR

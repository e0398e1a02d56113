"""The constants that both programs share are themselves what Kubernetes accepts."""

from __future__ import annotations

import pytest

import sedna_api
from sedna_api import labels
from sedna_render import names

KEYS = {name: key for name, key in vars(labels).items() if name.isupper() and name != "ANNOTATION_PREFIX"}


@pytest.mark.parametrize("key", KEYS.values(), ids=KEYS)
def test_every_key_is_a_valid_key(key: str) -> None:
    assert names.label_key(key) is None


def test_no_two_constants_are_the_same_key() -> None:
    assert len(set(KEYS.values())) == len(KEYS)


def test_what_a_worker_is_labelled_with_never_changes() -> None:
    # A Deployment's selector cannot be changed: another key here means deleting every one of them.
    assert labels.SERVICE_NAME == "jointinferenceservice.sedna.io/name"
    assert labels.WORKER_TYPE == "jointinferenceservice.sedna.io/worker-type"
    assert sedna_api.WORKER_TYPES == ("cloud", "edge")


def test_the_objects_read_are_those_of_sednas_crds() -> None:
    assert (sedna_api.API_VERSION, sedna_api.KIND_SERVICE, sedna_api.KIND_MODEL) == (
        "sedna.io/v1alpha1",
        "JointInferenceService",
        "Model",
    )

"""What all tests share: Hypothesis' profiles, and snapshots as one readable file a case."""

from __future__ import annotations

import os
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings
from syrupy.assertion import SnapshotAssertion
from syrupy.extensions.single_file import SingleFileSnapshotExtension, WriteMode
from syrupy.location import PyTestLocation
from syrupy.types import SnapshotIndex

# A real control plane, for whichever folder asks for one of its fixtures.
pytest_plugins = ["tests.controlplane.fixtures"]

ROOT = Path(__file__).parent.parent
SNAPSHOTS = ROOT / "tests" / "snapshots"

# `ci` draws the same examples every time: a red build is about the change, not about the day.
# `HYPOTHESIS_PROFILE=thorough pytest` looks for new ones.
settings.register_profile(
    "ci",
    max_examples=60,
    derandomize=True,
    deadline=None,
    database=None,
    suppress_health_check=[HealthCheck.too_slow],
)
settings.register_profile("thorough", max_examples=5000, deadline=None)
settings.load_profile(os.environ.get("HYPOTHESIS_PROFILE", "ci"))


class _OneFileACase(SingleFileSnapshotExtension):
    """Text snapshots in tests/snapshots, named after the case (the id of the test's parameters)."""

    _write_mode = WriteMode.TEXT

    @classmethod
    def dirname(cls, *, test_location: PyTestLocation) -> str:
        del test_location  # all cases lie side by side
        return str(SNAPSHOTS)

    @classmethod
    def get_snapshot_name(cls, *, test_location: PyTestLocation, index: SnapshotIndex = 0) -> str:
        callspec = getattr(test_location.item, "callspec", None)
        case = callspec.id if callspec else test_location.methodname
        return f"{case}.{index}" if index else case

    def read_snapshot_data_from_location(
        self, *, snapshot_location: str, snapshot_name: str, session_id: str
    ) -> str | None:
        """The text with its line ends as they are: a stray CR must show."""
        del snapshot_name, session_id
        try:
            return Path(snapshot_location).read_bytes().decode()
        except FileNotFoundError:
            return None


class _YamlFile(_OneFileACase):
    file_extension = "yaml"


class _TextFile(_OneFileACase):
    file_extension = "txt"


@pytest.fixture
def yaml_snapshot(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    """``assert text == yaml_snapshot`` compares with tests/snapshots/<case>.yaml."""
    return snapshot.use_extension(_YamlFile)


@pytest.fixture
def text_snapshot(snapshot: SnapshotAssertion) -> SnapshotAssertion:
    """``assert text == text_snapshot`` compares with tests/snapshots/<case>.txt."""
    return snapshot.use_extension(_TextFile)

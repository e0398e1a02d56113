from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from reconciler.time_source import SYSTEM
from reconciler.transport import Transport
from tests.reconciler.body import fake_api


@pytest.fixture
def api() -> Iterator[fake_api.FakeApi]:
    yield from fake_api.running()


@pytest.fixture
def connect() -> Iterator[Callable[[str], Transport]]:
    """A Transport to a URL, without any file."""
    made: list[Transport] = []

    def to(url: str) -> Transport:
        def load(configuration: Any) -> None:
            configuration.host = url
            configuration.api_key["BearerToken"] = "bearer a-token"

        made.append(Transport(load, SYSTEM, user_agent="sedna-reconciler/test"))
        return made[-1]

    yield to
    for transport in made:
        transport.close()


@pytest.fixture
def transport(api: fake_api.FakeApi, connect: Callable[[str], Transport]) -> Transport:
    return connect(api.url)

"""A whole collection by LIST, in pages; and the cheap question whether time went back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

from reconciler.decode import NotAList, decode_failure
from reconciler.transport import UnreachableError

if TYPE_CHECKING:
    from collections.abc import Callable

    from reconciler.records import Poison
    from reconciler.resource import Collection
    from reconciler.transport import Answer, Transport

GONE = 410


class RefusedError(Exception):
    """The API server answered, and it was no list; also where an ERROR came in a watch."""

    def __init__(self, code: int, message: str, retry_after: float = 0.0) -> None:
        super().__init__(f"{code}: {message[:500]}")
        self.code = code
        self.message = message
        self.retry_after = retry_after


class Listing(NamedTuple):
    """All objects of a collection at one version."""

    items: list[Any]
    version: str
    poison: list[Poison]


def refused(answer: Answer) -> RefusedError:
    """What an answer that is no success says."""
    message = decode_failure(answer.body).message or answer.body[:200].decode(errors="replace")
    return RefusedError(answer.status, message, answer.retry_after)


def list_all(
    api: Transport,
    collection: Collection,
    *,
    page_size: int,
    timeout: float,
    turned: Callable[[], None] = lambda: None,
) -> Listing:
    """List in pages, from the beginning when a page has expired, and at last in one go.

    Raises UnreachableError or RefusedError. ``turned`` is called at each page, ``timeout`` is for each.
    """
    for size in (page_size, page_size, 0):
        try:
            return _list(lambda query: _page(api, collection, query, timeout), size, turned)
        except RefusedError as problem:
            # A page's token lives for five minutes. What a 410 offers instead mixes two versions.
            if problem.code != GONE or not size:
                raise
    raise AssertionError("the last attempt returns or raises")


def _list(page_of: Callable[[dict[str, str]], Any], page_size: int, turned: Callable[[], None]) -> Listing:
    items: list[Any] = []
    poison: list[Poison] = []
    # No resourceVersion: the state of now. Version 0 may be older than what we saw, and ignores the limit.
    query = {"limit": str(page_size)} if page_size else {}
    while True:
        turned()
        page = page_of(query)
        items += page.items
        poison += page.failures
        if not page.continue_token:
            return Listing(items, page.resource_version, poison)
        query["continue"] = page.continue_token


def version_now(api: Transport, collection: Collection, *, timeout: float) -> str:
    """The collection's present version, for the price of one object."""
    return str(_page(api, collection, {"limit": "1"}, timeout).resource_version)


def _page(api: Transport, collection: Collection, query: dict[str, str], timeout: float) -> Any:
    answer = api.request("GET", collection.path, query=collection.query(**query), timeout=timeout)
    if not answer.ok:
        raise refused(answer)
    try:
        page = collection.resource.decode_list(answer.body)
    except NotAList as problem:
        # A proxy's page in HTML, or an answer that was cut.
        raise UnreachableError(f"the answer is no list: {problem}") from problem
    if not page.resource_version:
        raise UnreachableError("the answer is a list without a resourceVersion")
    return page

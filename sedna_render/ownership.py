"""Which generated files a run answers for: those of the sources that it covers, or that are no more.

Asks the disk only whether a source exists.
"""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from sedna_render.index_file import Part

if TYPE_CHECKING:
    from collections.abc import Collection


class Ownership:
    """The judgement of one run over the parts that the index of the output folder knows."""

    def __init__(
        self,
        *,
        root: str,
        covers: Collection[str],
        index_root: str,
        anchored: bool,
        rendered: Collection[str],
    ) -> None:
        """``root``, ``covers`` and ``anchored`` as in ``plan.Target``.

        ``index_root`` is the absolute folder that the index's sources are relative to, "" when it is not known;
        ``rendered`` are the services of this run.
        """
        self._root = root
        self._index_root = index_root or root
        self._covers = covers
        self._rendered = rendered
        # Where a source is looked for. A current folder says nothing about the run that wrote the index.
        self._roots = [*filter(None, [index_root]), *([root] if anchored else [])]
        self._gone: dict[str, bool] = {}

    def answers_for(self, part: Part) -> bool:
        """Whether the part may be replaced or removed: nobody else will render it."""
        return part.service in self._rendered or self._is_covered(part.source) or self._is_gone(part.source)

    def moved(self, part: Part) -> Part:
        """The part with its source relative to this run's root."""
        if not part.source or self._index_root == self._root:
            return part
        return Part(os.path.relpath(self._absolute(part.source), self._root), part.service)

    def _absolute(self, source: str) -> str:
        return os.path.normpath(os.path.join(self._index_root, source))

    def _is_covered(self, source: str) -> bool:
        if not source:
            return "" in self._covers
        path = self._absolute(source)
        while path not in self._covers:
            parent = os.path.dirname(path)
            if parent == path:
                return False
            path = parent
        return True

    def _is_gone(self, source: str) -> bool:
        """Whether the source exists no more; when it is not known what it is relative to, it is taken to exist."""
        if not source or not self._roots:
            return False
        gone = self._gone.get(source)
        if gone is None:
            gone = not any(os.path.lexists(os.path.join(root, source)) for root in self._roots)
            self._gone[source] = gone
        return gone

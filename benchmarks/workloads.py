"""What the benchmarks run in processes of their own: `python -m benchmarks.workloads NAME ARGUMENT…`."""

from __future__ import annotations

import json
import os
import statistics
import sys
import time  # noqa: TID251 - a benchmark is the one place that asks for the time
from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from collections.abc import Callable, Iterator


def files(folder: str) -> list[str]:
    """The YAML files of a folder, in order, without its configuration."""
    names = (name for name in sorted(os.listdir(folder)) if name.endswith(".yaml"))
    return [os.path.join(folder, name) for name in names if name != "sedna-render.yaml"]


def contents(folder: str) -> Iterator[bytes]:
    """The bytes of each of those files."""
    for path in files(folder):
        with open(path, "rb") as file:
            yield file.read()


def documents(path: str) -> list[Any]:
    """All documents of a file, as PyYAML's C loader reads them."""
    import yaml

    with open(path, "rb") as file:
        return list(yaml.load_all(file, yaml.CSafeLoader))


def pyyaml(folder: str) -> None:
    """Merely load all files of a folder with PyYAML's C loader: the baseline of everything."""
    for path in files(folder):
        documents(path)


def helm(chart: str, values: str, output: str) -> None:
    """`helm template CHART --values VALUES`: the same steps in Helm's own SDK, without a cluster."""
    import helm_python

    with open(values, "rb") as file:
        given = json.load(file)
    with helm_python.Config(storage_driver="memory", namespace="default") as config:
        release = config.install(chart, "fleet", given, namespace="default", dry_run="client")
    with open(output, "w", encoding="utf-8") as file:
        file.write(release["manifest"])


def reading(folder: str, repeat: str) -> None:
    """CPU seconds that our reader and PyYAML's C loader need for the same bytes, in turn."""
    import yaml

    from sedna_render import yaml_reader

    texts = list(contents(folder))

    def ours() -> None:
        for text in texts:
            yaml_reader.read(yaml_reader.Source("service.yaml", text))

    def theirs() -> None:
        for text in texts:
            list(yaml.load_all(text, yaml.CSafeLoader))

    _compare(ours, theirs, int(repeat))


def writing(folder: str, repeat: str) -> None:
    """CPU seconds that our writer and PyYAML's C dumper need for the same rendered objects, in turn."""
    import yaml

    from sedna_render import yaml_writer

    objects = [document for path in files(folder) for document in documents(path)]

    def ours() -> None:
        for data in objects:
            yaml_writer.dump(data)

    def theirs() -> None:
        for data in objects:
            yaml.dump(data, Dumper=yaml.CSafeDumper, sort_keys=False)

    _compare(ours, theirs, int(repeat))


def _compare(ours: Callable[[], None], theirs: Callable[[], None], repeat: int) -> None:
    taken: dict[str, list[float]] = {"ours": [], "theirs": []}
    for _ in range(repeat):
        for name, function in (("ours", ours), ("theirs", theirs)):
            begin = time.process_time()
            function()
            taken[name].append(time.process_time() - begin)
    print(json.dumps({name: statistics.median(seconds) for name, seconds in taken.items()}))


WORKLOADS: dict[str, Callable[..., None]] = {
    "pyyaml": pyyaml,
    "helm": helm,
    "reading": reading,
    "writing": writing,
}

if __name__ == "__main__":
    WORKLOADS[sys.argv[1]](*sys.argv[2:])

"""`python -m benchmarks`: every measurement of one run, printed as Markdown, and written where --output says."""

from __future__ import annotations

import argparse
import json
import os
import platform
import shutil
import subprocess
import sys
import tempfile
from typing import NamedTuple

from benchmarks import fleet
from benchmarks.measure import ROOT, Command, Run, sedna_render, side_by_side, workload
from benchmarks.report import Section, markdown, section

ONE = os.path.join("fixtures", "helmet-detection")

INTRODUCTION = """\
# Benchmarks

Written by `make bench`; measured on {machine}. Whole processes from start to end, their children
included; medians of {repeat} runs (fewer where a run takes long), the contenders of a table taken in turn. Times differ from machine to machine,
and a busy one makes all of them worse: **the ratios are what to compare.** Each is to the first row of its table.

One service is a file of 86 lines: a `JointInferenceService` and two `Models`. It becomes a Service and two Pods in one file of its own.
"""


class Plan(NamedTuple):
    """How much is measured."""

    services: int
    many: int
    kustomize: int
    repeat: int
    helm: bool
    folder: str

    def path(self, name: str) -> str:
        """A place in the scratch folder."""
        return os.path.join(self.folder, name)


def start(plan: Plan) -> Section:
    """What a person or a hook waits for."""
    runs = side_by_side(
        {
            "`python -c pass`": Command([sys.executable, "-c", "pass"]),
            "`sedna-render --help`": Command(sedna_render("--help")),
            "`sedna-render render`, one service": Command(sedna_render("render", ONE)),
        },
        plan.repeat * 3,
    )
    return section("Start", "What a person, or a hook, waits for.", runs, "`python -c pass`")


def batch(plan: Plan, inputs: str, output: str) -> tuple[Section, Run]:
    """A fleet, beside what PyYAML needs merely to load it; also the run of rendering it."""
    render = f"`render`, {plan.services:,} files written"
    commands = {
        "PyYAML's C loader, files loaded": Command(workload("pyyaml", inputs)),
        render: Command(sedna_render("render", inputs, "-o", output), fresh=output),
        "`render` again, nothing to write": Command(sedna_render("render", inputs, "-o", output)),
        "`check`": Command(sedna_render("check", inputs, "-o", output)),
    }
    runs = side_by_side(commands, plan.repeat)
    text = (
        "All files read, validated, rendered and written into a new folder, beside what PyYAML's C loader needs merely "
        f"to load the same files. A service costs {runs[render].cpu / plan.services * 1e6:.0f} µs of CPU, the start included."
    )
    return section(f"{plan.services:,} services", text, runs, next(iter(commands))), runs[render]


def many(plan: Plan, fewer: Run) -> Section:
    """Does time grow with the number of services, and no faster."""
    inputs, output = fleet.write(plan.path("many"), plan.many), plan.path("many-rendered")
    repeat = max(1, plan.repeat // 3)
    render = f"`render`, {plan.many:,} services"
    runs = side_by_side(
        {
            render: Command(sedna_render("render", inputs, "-o", output), fresh=output),
            f"`check`, {plan.many:,} services": Command(sedna_render("check", inputs, "-o", output)),
        },
        repeat,
        warm_up=False,
    )
    rows = {f"`render`, {plan.services:,} services": fewer, **runs}
    growth = runs[render].cpu / fewer.cpu
    text = (
        f"{plan.many / plan.services:.0f} times the services take {growth:.1f} times the CPU: "
        f"{plan.many / runs[render].wall:,.0f} services a second."
    )
    return section(f"{plan.many:,} services", text, rows, next(iter(rows)))


def helm(plan: Plan, inputs: str, output: str) -> Section:
    """Helm, by its own SDK, with a chart that makes the same objects."""
    made = plan.path("helm")
    _peers("chart", inputs, output, made)
    result, fresh = os.path.join(made, "manifests.yaml"), plan.path("beside-helm")
    chart, values = os.path.join(made, "chart"), os.path.join(made, "values.json")
    runs = side_by_side(
        {
            "`sedna-render render`": Command(sedna_render("render", inputs, "-o", fresh), fresh=fresh),
            "Helm": Command(workload("helm", chart, values, result)),
        },
        max(1, plan.repeat // 2),
    )
    _peers("equal", output, result, str(plan.services))
    text = (
        f"{plan.services:,} services by Helm's SDK (what `helm template` does, one release). In its favour: one values file with every derived name "
        "and path already in it, as JSON; no validation of the input; one file of output. All objects are compared and equal."
    )
    return section("Beside Helm", text, runs, "`sedna-render render`")


def kustomize(plan: Plan) -> Section:
    """Kustomize, as kubectl has it: one base, an overlay a service."""
    inputs, output = fleet.write(plan.path("few"), plan.kustomize), plan.path("few-rendered")
    made, result = plan.path("kustomize"), plan.path("kustomize.yaml")
    _silently(sedna_render("render", inputs, "-o", output))
    _peers("overlays", output, made, str(plan.kustomize))
    fresh = plan.path("beside-kustomize")
    runs = side_by_side(
        {
            "`sedna-render render`": Command(sedna_render("render", inputs, "-o", fresh), fresh=fresh),
            "`kubectl kustomize`": Command([_kubectl(), "kustomize", made], stdout=result),
        },
        min(plan.repeat, 3),
        warm_up=False,
    )
    _peers("equal", output, result, str(plan.kustomize))
    text = (
        f"{plan.kustomize:,} services as overlays of one base, in one build. In its favour: every patch is finished; one file of output. "
        "All objects are compared and equal."
    )
    return section("Beside kustomize", text, runs, "`sedna-render render`")


def stages(plan: Plan, inputs: str, output: str) -> Section:
    """Reading and writing alone, beside PyYAML's C extension."""
    rows = []
    for title, name, folder in (
        ("read, beside CSafeLoader", "reading", inputs),
        ("write, beside CSafeDumper", "writing", output),
    ):
        found = json.loads(_silently(workload(name, folder, str(plan.repeat))))
        ours, theirs = found["ours"] / plan.services, found["theirs"] / plan.services
        rows.append((title, f"{ours * 1e6:.0f} µs", f"{theirs * 1e6:.0f} µs", f"{ours / theirs:.2f}"))
    text = "CPU time for the documents of one service, in one process, in memory."
    return Section("YAML alone", text, ("", "ours", "PyYAML", "ratio"), rows)


def measure(plan: Plan) -> list[Section]:
    """Every section, in the order of the report."""
    inputs, output = fleet.write(plan.path("fleet"), plan.services), plan.path("rendered")
    whole, rendering = batch(plan, inputs, output)
    sections = [start(plan), whole, stages(plan, inputs, output)]
    if plan.many:
        sections.append(many(plan, rendering))
    if plan.helm:
        sections.append(helm(plan, inputs, output))
    if plan.kustomize:
        sections.append(kustomize(plan))
    return sections


def _peers(*arguments: str) -> None:
    _silently([sys.executable, "-m", "benchmarks.peers", *arguments])


def _silently(arguments: list[str]) -> str:
    return subprocess.run(arguments, cwd=ROOT, check=True, capture_output=True, text=True).stdout


def _kubectl() -> str:
    beside = os.path.join(os.path.dirname(sys.executable), "kubectl")
    found = beside if os.path.exists(beside) else shutil.which("kubectl")
    if not found:
        sys.exit("error: no kubectl\nhelp: make bench, or --kustomize-services 0")
    return found


def _machine() -> str:
    return f"{platform.system()} {platform.machine()}, {os.cpu_count()} cores, Python {platform.python_version()}"


def _arguments() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m benchmarks", description=__doc__)
    parser.add_argument("--services", type=int, default=1000, help="size of the fleet (%(default)s)")
    parser.add_argument(
        "--many", type=int, default=10_000, help="size of the large one, 0 for none (%(default)s)"
    )
    parser.add_argument(
        "--kustomize-services",
        type=int,
        default=1000,
        help="overlays, 0 for none (%(default)s, most of the time)",
    )
    parser.add_argument("--no-helm", action="store_true", help="leave Helm out")
    parser.add_argument(
        "--repeat", type=int, default=7, help="runs of which the median is taken (%(default)s)"
    )
    parser.add_argument("--quick", action="store_true", help="small numbers: is everything still in order?")
    parser.add_argument("--output", help="also write the report to this file")
    return parser.parse_args()


def main() -> None:
    """Measure, print, and write the report if a file is named."""
    given = _arguments()
    with tempfile.TemporaryDirectory(prefix="sedna-render-bench-") as folder:
        plan = Plan(
            given.services, given.many, given.kustomize_services, given.repeat, not given.no_helm, folder
        )
        if given.quick:
            plan = plan._replace(services=200, many=1000, kustomize=min(50, plan.kustomize), repeat=3)
        report = INTRODUCTION.format(machine=_machine(), repeat=plan.repeat)
        report += "\n" + markdown(measure(plan))
    print(report, end="")
    if given.output and not given.quick:
        with open(given.output, "w", encoding="utf-8", newline="\n") as file:
            file.write(report)


if __name__ == "__main__":
    main()

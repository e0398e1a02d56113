"""Builds the tests' own control plane from published Go modules, once, into the user's cache folder.

``python tests/controlplane/build.py`` does it ahead of the tests. Knows nothing of pytest and starts nothing.
"""

from __future__ import annotations

import contextlib
import hashlib
import os
import shutil
import subprocess
import sys
import tempfile
import time  # noqa: TID251 - how long a build takes is told
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path

# In the order of building: the quick one first.
PROGRAMS = ("etcd", "kube-apiserver", "kube-controller-manager", "kube-scheduler")
# What `KUBEBUILDER_ASSETS` may stand in for.
ASSETS = ("etcd", "kube-apiserver")

MODULE = Path(__file__).parent / "go"
VERSION = "1.36.3"
_VERSION_VARIABLES = {
    "gitVersion": f"v{VERSION}",
    "gitMajor": VERSION.split(".", maxsplit=1)[0],
    "gitMinor": VERSION.split(".")[1],
}
# Without a version `/version` and the feature gates say nonsense.
_LINK = " ".join(
    ["-s -w", *(f"-X k8s.io/component-base/version.{k}={v}" for k, v in _VERSION_VARIABLES.items())]
)
FLAGS = ("-trimpath", "-buildvcs=false", "-mod=readonly", "-ldflags", _LINK)
_STILL_BUILDING_EVERY = 30.0  # seconds between lines: a silent CI job looks dead

Say = Callable[[str], None]


class UnavailableError(Exception):
    """There is no control plane to be had here; the text says in one line how to get one."""


class BuildFailedError(Exception):
    """Go is there, and what it was given does not compile; the text ends with what it said."""


def find_go() -> str | None:
    """The go command: the one on the PATH, or where its installer puts it."""
    usual = "/usr/local/go/bin/go"
    return shutil.which("go") or (usual if os.access(usual, os.X_OK) else None)


def wanted_go() -> str:
    """The oldest Go that will do, as go.mod has it."""
    lines = (MODULE / "go.mod").read_text().splitlines()
    return next(line.split()[1] for line in lines if line.startswith("go "))


def cache_folder(go_version: str) -> Path:
    """Where binaries of these sources, built by this Go, are kept."""
    digest = hashlib.sha256("\0".join([go_version, *FLAGS]).encode())
    for path in [MODULE / "go.mod", MODULE / "go.sum", *sorted(MODULE.glob("cmd/*/main.go"))]:
        digest.update(path.relative_to(MODULE).as_posix().encode() + b"\0" + path.read_bytes() + b"\0")
    home = os.environ.get("XDG_CACHE_HOME") or os.path.expanduser("~/.cache")
    return Path(home) / "sedna-render" / "controlplane" / digest.hexdigest()[:16]


def programs(names: Sequence[str] = PROGRAMS, say: Say = lambda _: None) -> dict[str, str]:
    """Path by name of the programs asked for, built where they are not yet; raises UnavailableError, BuildFailedError."""
    found = _assets(names)
    missing = [name for name in PROGRAMS if name in names and name not in found]
    if not missing:
        return found
    go = find_go()
    if go is None:
        raise UnavailableError(_how_to_get(missing, "there is no go command"))
    version = _run([go, "version"])
    if version.returncode:
        raise UnavailableError(_how_to_get(missing, version.stdout.strip().splitlines()[-1]))
    folder = cache_folder(version.stdout.strip())
    if not all((folder / name).exists() for name in missing):
        folder.parent.mkdir(parents=True, exist_ok=True)
        with _only_one(folder.with_suffix(".lock"), say):
            _build(go, folder, [name for name in missing if not (folder / name).exists()], say)
    return found | {name: str(folder / name) for name in missing}


def _assets(names: Sequence[str]) -> dict[str, str]:
    folder = os.environ.get("KUBEBUILDER_ASSETS", "")
    paths = {name: os.path.join(folder, name) for name in ASSETS if folder and name in names}
    for path in paths.values():
        if not os.access(path, os.X_OK):
            raise UnavailableError(
                f"KUBEBUILDER_ASSETS is set, but {path} is no program: mend it or unset it"
            )
    return paths


def _how_to_get(missing: Sequence[str], reason: str) -> str:
    other = (
        ", or set KUBEBUILDER_ASSETS to a folder with kube-apiserver and etcd"
        if set(missing) <= set(ASSETS)
        else ""
    )
    return f"no control plane ({', '.join(missing)}): {reason}; install Go >= {wanted_go()}{other}"


def _environment() -> dict[str, str]:
    # Static and without a C compiler, as Kubernetes itself releases them.
    return {**os.environ, "CGO_ENABLED": "0", "GOWORK": "off"}


def _run(command: Sequence[str]) -> subprocess.CompletedProcess[str]:
    # In the module's folder `go version` is the version that builds it, after a switch of toolchains too.
    return subprocess.run(
        command,
        cwd=MODULE,
        env=_environment(),
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        text=True,
        check=False,
    )


@contextlib.contextmanager
def _only_one(lock: Path, say: Say) -> Iterator[None]:
    """Held by one process at a time; the next finds the work done."""
    import fcntl

    with lock.open("w") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            say("control plane: another process is building it, waiting ...")
            fcntl.flock(file, fcntl.LOCK_EX)
        yield


def _build(go: str, folder: Path, names: Sequence[str], say: Say) -> None:
    """Build into a folder beside, then rename each: nobody ever sees half a program."""
    if not names:
        return  # the process that held the lock has done it
    start = time.monotonic()
    say(
        f"control plane: building Kubernetes {VERSION} from source, once (10 to 15 CPU minutes), into {folder}"
    )
    downloaded = _run([go, "mod", "download"])
    if downloaded.returncode:
        raise UnavailableError(
            _how_to_get(names, f"its modules cannot be fetched ({downloaded.stdout.strip()[-200:]!r})")
        )
    folder.mkdir(exist_ok=True)
    with tempfile.TemporaryDirectory(dir=folder.parent, prefix="building-") as beside:
        for number, name in enumerate(names, 1):
            say(f"  {number}/{len(names)} {name} ...")
            _build_one(go, name, os.path.join(beside, name), say)
            os.replace(os.path.join(beside, name), folder / name)
    say(f"control plane: built in {time.monotonic() - start:.0f} s")


def _build_one(go: str, name: str, target: str, say: Say) -> None:
    start = time.monotonic()
    command = [go, "build", *FLAGS, "-o", target, f"./cmd/{name}"]
    with (
        tempfile.TemporaryFile("w+") as output,
        subprocess.Popen(command, cwd=MODULE, env=_environment(), stdout=output, stderr=output) as process,
    ):
        try:
            while _still_runs(process):
                say(f"      still building after {time.monotonic() - start:.0f} s")
        except BaseException:
            process.terminate()  # also when interrupted: go ends its compilers
            raise
        output.seek(0)
        if process.returncode:
            raise BuildFailedError(f"go build {name} failed:\n{output.read()[-4000:]}")
    say(f"      {time.monotonic() - start:.0f} s, {os.path.getsize(target) / 1e6:.0f} MB")


def _still_runs(process: subprocess.Popen[bytes]) -> bool:
    try:
        process.wait(_STILL_BUILDING_EVERY)
    except subprocess.TimeoutExpired:
        return True
    return False


def main() -> int:
    """Build all of them now, and say where they are."""
    try:
        found = programs(say=lambda text: print(text, file=sys.stderr, flush=True))  # noqa: T201 - a script
    except (UnavailableError, BuildFailedError) as error:
        sys.stderr.write(f"error: {error}\n")
        return 1
    sys.stdout.writelines(f"{path}\n" for path in found.values())
    return 0


if __name__ == "__main__":
    sys.exit(main())

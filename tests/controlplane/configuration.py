"""What the programs of the control plane are started with: flags, users and keys. Starts nothing itself."""

from __future__ import annotations

import base64
import os
from pathlib import Path
from typing import Any

ADMIN = "admin"
USERS = 64  # plain users that exist, to be given rights by RBAC
_NEED_A_CLOUD = (
    "node-ipam-controller",
    "service-lb-controller",
    "node-route-controller",
    "cloud-node-lifecycle-controller",
)


def etcd_flags(data: Path, client: str, peer: str) -> tuple[str, ...]:
    return (
        f"--data-dir={data}",
        f"--listen-client-urls={client}",
        f"--advertise-client-urls={client}",
        f"--listen-peer-urls={peer}",
        f"--initial-advertise-peer-urls={peer}",
        f"--initial-cluster=default={peer}",
        "--unsafe-no-fsync",
        "--log-level=error",
    )


def apiserver_flags(data: Path, etcd: str, port: int) -> tuple[str, ...]:
    return (
        f"--etcd-servers={etcd}",
        "--bind-address=127.0.0.1",
        "--advertise-address=127.0.0.1",
        f"--secure-port={port}",
        f"--cert-dir={data}",
        "--service-cluster-ip-range=10.96.0.0/16",
        f"--token-auth-file={data / 'tokens.csv'}",
        "--authorization-mode=RBAC",
        "--service-account-issuer=https://kubernetes.default.svc",
        f"--service-account-key-file={data / 'accounts.key'}",
        f"--service-account-signing-key-file={data / 'accounts.key'}",
        # Pods need no service account here: its admission would wait for controllers that may not run.
        "--disable-admission-plugins=ServiceAccount",
        "--endpoint-reconciler-type=none",
        "--enable-priority-and-fairness=false",
    )


def controller_manager_flags(data: Path) -> tuple[str, ...]:
    return (
        "--node-monitor-grace-period=10s",
        f"--controllers=*,{','.join(f'-{name}' for name in _NEED_A_CLOUD)}",
        f"--service-account-private-key-file={data / 'accounts.key'}",
    )


def write_credentials(data: Path) -> None:
    """The users, their names being their tokens, and a key to sign the tokens of service accounts with."""
    users = [f"user-{number}" for number in range(1, USERS + 1)]
    rows = [f'{ADMIN},{ADMIN},{ADMIN},"system:masters"', *(f"{user},{user},{user}" for user in users)]
    (data / "tokens.csv").write_text("\n".join(rows) + "\n")
    (data / "accounts.key").write_text(_private_key())
    (data / "accounts.key").chmod(0o600)


def _private_key() -> str:
    """A new key on the curve P-256, as PEM: RFC 5915 with the public half left out, which Go works out itself."""
    scalar = b"\x01" + os.urandom(31)  # below the order of the curve
    curve = bytes.fromhex("06082a8648ce3d030107")
    inner = b"\x02\x01\x01" + b"\x04\x20" + scalar + b"\xa0" + bytes([len(curve)]) + curve
    text = base64.b64encode(b"\x30" + bytes([len(inner)]) + inner).decode()
    return f"-----BEGIN EC PRIVATE KEY-----\n{text}\n-----END EC PRIVATE KEY-----\n"


def kubeconfig(server: str, certificate: str, token: str) -> dict[str, Any]:
    name = "tests"
    return {
        "apiVersion": "v1",
        "kind": "Config",
        "clusters": [{"name": name, "cluster": {"server": server, "certificate-authority": certificate}}],
        "users": [{"name": name, "user": {"token": token}}],
        "contexts": [{"name": name, "context": {"cluster": name, "user": name}}],
        "current-context": name,
    }

from __future__ import annotations

import base64
import json
import logging
import time  # noqa: TID251 - time-outs are what it is about
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from reconciler import transport
from reconciler.time_source import SYSTEM
from reconciler.transport import SilentError, Transport, UnreachableError
from tests.reconciler.body.fake_api import FakeApi, Handler, Request, kubeconfig

PODS = "/api/v1/pods"


def anything(_request: Request) -> bool:
    return True


def make(load: Callable[[Any], None]) -> Transport:
    return Transport(load, SYSTEM, user_agent="sedna-reconciler/test")


def test_requests_say_who_they_are_from(api: FakeApi, transport: Transport) -> None:
    transport.request("GET", PODS)

    headers = api.requests[0].headers
    assert headers["User-Agent"] == "sedna-reconciler/test"
    assert headers["authorization"] == "bearer a-token"


def test_a_kubeconfig_file_is_all_it_takes(api: FakeApi, tmp_path: Path) -> None:
    file = tmp_path / "config"
    file.write_text(kubeconfig(api.url))
    connected = make(transport.from_kubeconfig(str(file)))

    assert connected.request("GET", PODS).ok
    assert api.requests[0].headers["authorization"] == "Bearer a-token"
    connected.close()


def test_in_a_cluster_the_service_account_is_used_and_a_refused_token_is_read_anew(
    api: FakeApi, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    from kubernetes.config import incluster_config

    token, certificate = tmp_path / "token", tmp_path / "ca.crt"
    token.write_text("old")
    certificate.write_text("not looked at: the fake speaks no TLS")
    monkeypatch.setattr(incluster_config, "SERVICE_TOKEN_FILENAME", str(token))
    monkeypatch.setattr(incluster_config, "SERVICE_CERT_FILENAME", str(certificate))
    monkeypatch.setenv("KUBERNETES_SERVICE_HOST", "127.0.0.1")
    monkeypatch.setenv("KUBERNETES_SERVICE_PORT", "1")

    def load(configuration: Any) -> None:
        transport.in_cluster(configuration)
        assert configuration.host == "https://127.0.0.1:1"
        configuration.host = api.url
        configuration.ssl_ca_cert = None

    clock = [100.0]
    connected = Transport(load, SYSTEM._replace(monotonic=lambda: clock[0]), user_agent="x")
    assert connected.request("GET", PODS).ok

    def only_new(handler: Handler, request: Request) -> bool:
        if request.headers["authorization"].endswith("new"):
            return False
        handler.refuse(401, "Unauthorized")
        return True

    api.on(anything, only_new, times=100)
    token.write_text("new")
    clock[0] += 10
    # The hook would read it a minute later only.
    monkeypatch.setattr(connected._configuration, "host", api.url)
    assert connected.request("GET", PODS).ok
    assert [one.headers["authorization"] for one in api.requests] == [
        "bearer old",
        "bearer old",
        "bearer new",
    ]
    connected.close()


def test_a_token_that_stays_refused_is_not_read_at_every_request(api: FakeApi) -> None:
    loads = []

    def load(configuration: Any) -> None:
        loads.append(1)
        configuration.host = api.url

    connected = make(load)
    api.on(anything, lambda handler, _request: handler.refuse(401), times=100)
    for _ in range(5):
        assert connected.request("GET", PODS).status == 401

    assert len(loads) == 1  # within the first seconds
    connected.close()


def test_credentials_that_cannot_be_had_for_a_moment_are_no_crash(api: FakeApi) -> None:
    broken = [False]

    def load(configuration: Any) -> None:
        configuration.host = api.url
        configuration.api_key["BearerToken"] = "bearer x"

        def hook(_configuration: Any) -> None:
            if broken[0]:
                raise RuntimeError("Token file exists but empty.")

        configuration.refresh_api_key_hook = hook

    connected = make(load)
    broken[0] = True
    with pytest.raises(UnreachableError, match=r"no credentials.*Token file exists but empty"):
        connected.request("GET", PODS)
    broken[0] = False
    assert connected.request("GET", PODS).ok
    connected.close()


@pytest.mark.parametrize(
    "hang",
    [
        pytest.param(lambda _handler, _request: time.sleep(1.5), id="no answer"),
        pytest.param(lambda handler, _request: drip(handler), id="a body that drips"),
    ],
)
def test_a_request_ends_within_its_time(
    api: FakeApi, transport: Transport, hang: Callable[[Handler, Request], None]
) -> None:
    api.on(anything, hang)
    began = time.monotonic()
    with pytest.raises(SilentError):
        transport.request("GET", PODS, timeout=0.5)

    assert time.monotonic() - began < 1.2


def drip(handler: Handler) -> None:
    handler.send_response(200)
    handler.send_header("Content-Length", "1000")
    handler.end_headers()
    for _ in range(15):
        handler.wfile.write(b" ")
        time.sleep(0.1)


def test_nothing_is_sent_twice_by_itself(api: FakeApi, transport: Transport) -> None:
    api.on(anything, lambda handler, _request: handler.cut())
    with pytest.raises(UnreachableError):
        transport.request("PATCH", PODS, body={})

    assert len(api.requests) == 1


@pytest.mark.parametrize("code", [429, 503])
def test_retry_after_is_told_and_not_waited_for(api: FakeApi, transport: Transport, code: int) -> None:
    api.on(anything, lambda handler, _request: handler.refuse(code, Retry_After="7"))
    began = time.monotonic()
    answer = transport.request("GET", PODS)

    assert (answer.status, answer.retry_after) == (code, 7.0)
    assert time.monotonic() - began < 1


def test_a_redirect_is_not_followed_with_our_token(api: FakeApi, transport: Transport) -> None:
    api.on(anything, lambda handler, _request: handler.json(302, b"", Location="http://127.0.0.1:1/"))

    assert transport.request("GET", PODS).status == 302


def test_an_unreachable_server_is_named_on_one_line(connect: Callable[[str], Transport]) -> None:
    with pytest.raises(UnreachableError) as caught:
        connect("http://127.0.0.1:1").request("GET", PODS)

    assert "refused" in str(caught.value)
    assert "\n" not in str(caught.value)
    assert "0x" not in str(caught.value)


def test_a_warning_of_the_server_is_shown_once(
    api: FakeApi, transport: Transport, caplog: pytest.LogCaptureFixture
) -> None:
    def warn(handler: Handler, _request: Request) -> None:
        handler.json(200, {}, Warning='299 - "unknown field \\"status.x\\""')

    api.on(anything, warn, times=3)
    with caplog.at_level(logging.WARNING):
        for _ in range(3):
            transport.request("GET", PODS)

    assert len([one for one in caplog.records if "unknown field" in one.message]) == 1


def test_the_servers_clock_is_known_from_its_answers(api: FakeApi, transport: Transport) -> None:
    api.clock_offset = 3600.0
    assert transport.server_time.now() == pytest.approx(time.time(), abs=2)
    transport.request("GET", PODS)

    assert transport.server_time.now() == pytest.approx(time.time() + 3600, abs=2)


def test_the_servers_clock_does_not_jump_by_what_the_header_leaves_out(
    api: FakeApi, transport: Transport
) -> None:
    transport.request("GET", PODS)
    offsets = set()
    for _ in range(8):
        time.sleep(0.15)
        transport.request("GET", PODS)
        offsets.add(transport.server_time._offset)

    assert len(offsets) == 1


def test_connections_are_kept(api: FakeApi, transport: Transport) -> None:
    ports: set[int] = set()

    def note(handler: Handler, _request: Request) -> bool:
        ports.add(handler.client_address[1])
        return False

    api.on(anything, note, times=9)
    for _ in range(5):
        transport.request("GET", PODS)

    assert len(ports) == 1


def test_a_kubeconfig_with_a_ca_is_verified(tmp_path: Path, api: FakeApi) -> None:
    text = json.loads(kubeconfig(api.url.replace("http:", "https:")))
    text["clusters"][0]["cluster"]["certificate-authority-data"] = base64.b64encode(
        b"no certificate"
    ).decode()
    file = tmp_path / "config"
    file.write_text(json.dumps(text))

    connected = make(transport.from_kubeconfig(str(file)))
    with pytest.raises(UnreachableError):
        connected.request("GET", PODS, timeout=2.0)
    connected.close()

"""``withinpx studio``: the printed address, and the errors when it cannot start."""

import os
import re
import signal
import subprocess
import sys
from pathlib import Path

import httpx2 as httpx
import pytest

from withinpx.cli import main
from withinpx.files import locked_folder
from withinpx.studio.server import bind, url_host


def test_the_printed_address_opens_the_page_and_an_interrupt_ends_the_server(home: Path) -> None:
    command = [sys.executable, "-m", "withinpx", "studio", "--port", "0", "--no-open", "--home", str(home)]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path)}
    with subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=environment) as process:  # noqa: S603
        assert process.stdout is not None
        found = re.search(r"(http://127\.0\.0\.1:\d+)/\?token=(\S{20,})", process.stdout.readline())
        assert found is not None
        with httpx.Client(base_url=found[1], timeout=30, transport=httpx.HTTPTransport(retries=5)) as browser:
            assert browser.get("/").status_code == 401
            assert browser.get(f"/?token={found[2]}").status_code == 303
            page = browser.get("/")
            assert (page.status_code, page.headers["content-type"]) == (200, "text/html; charset=utf-8")
        process.send_signal(signal.SIGINT)
        assert process.wait(30) == 0


def error_of(capsys: pytest.CaptureFixture[str], *arguments: str) -> str:
    with pytest.raises(SystemExit) as exited:
        main(["studio", "--no-open", *arguments])
    assert exited.value.code == 2
    return capsys.readouterr().err


def test_a_taken_port_is_an_error(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with bind("127.0.0.1", 0) as taken:
        taken.listen()
        port = str(taken.getsockname()[1])
        assert f"port {port}" in error_of(capsys, "--port", port, "--home", str(home))


def test_two_studios_cannot_share_a_folder(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with locked_folder(home):
        assert "Another process" in error_of(capsys, "--port", "0", "--home", str(home))


def test_an_upload_limit_of_zero_is_an_error(home: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert "limit" in error_of(capsys, "--upload-limit-mb", "0", "--home", str(home))


def test_a_server_on_all_addresses_prints_the_loopback_address() -> None:
    assert url_host("0.0.0.0") == "127.0.0.1"  # noqa: S104
    assert url_host("::1") == "[::1]"

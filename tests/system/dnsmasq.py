"""A real name server for tests, on loopback."""

from __future__ import annotations

import shutil
import socket
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import cast

import pytest

_QUESTION = b"\x12\x34\x01\x00\x00\x01\0\0\0\0\0\0\x04some\x04test\0\0\x01\0\x01"  # the address of some.test


@contextmanager
def dnsmasq(folder: Path, zone: str) -> Iterator[str]:
    """dnsmasq, which knows what is in `zone` and nothing else; its address."""
    program = shutil.which("dnsmasq") or shutil.which("dnsmasq", path="/usr/sbin")
    if program is None:
        pytest.skip("dnsmasq is not installed: it is in Debian's dnsmasq-base")
    port = _free_port()
    config = folder / "dnsmasq.conf"
    config.write_text(
        f"port={port}\nlisten-address=127.0.0.1\nbind-interfaces\nno-resolv\nno-hosts\nno-daemon\n"
        f"pid-file={folder / 'pid'}\nuser=\n{zone}\nlocal=/test/\n"
    )
    with (
        (folder / "log").open("wb") as log,
        subprocess.Popen([program, f"--conf-file={config}"], stderr=log) as process,
    ):
        try:
            _wait_for_answers(process, port, folder / "log")
            yield f"127.0.0.1:{port}"
        finally:
            process.terminate()


def _free_port() -> int:
    """One that is free for both UDP and TCP."""
    for _ in range(100):
        with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as udp, socket.socket() as tcp, suppress(OSError):
            udp.bind(("127.0.0.1", 0))
            port = cast(int, udp.getsockname()[1])
            tcp.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            tcp.bind(("127.0.0.1", port))
            return port
    pytest.skip("no port is free here")


def _wait_for_answers(process: subprocess.Popen[bytes], port: int, log: Path) -> None:
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as client:
        client.settimeout(0.05)
        for _ in range(100):
            if process.poll() is not None:
                pytest.skip(f"dnsmasq does not start here: {log.read_text().strip()}")
            with suppress(OSError):
                client.sendto(_QUESTION, ("127.0.0.1", port))
                client.recv(512)
                return
    pytest.fail("dnsmasq does not answer")

"""nginx on loopback addresses: serves folders, one for each host, and keeps the log that all figures are counted in.

It runs beside the crawl that is measured, never below it, so its CPU is not counted. It ends with the `with` block.
"""

from __future__ import annotations

import contextlib
import os
import shutil
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import NamedTuple

from benchmarks.tree import ending_with_us

PORT = 8290
NOT_PAGES = ("/robots.txt", "/sitemap.xml", "/favicon.ico")


class Request(NamedTuple):
    """A line of the log. nginx notes the end of an answer and how long it took."""

    ended_at: float
    took_s: float
    address: str
    status: int
    path: str

    @property
    def started_at(self) -> float:
        return self.ended_at - self.took_s


@dataclass(frozen=True)
class Serving:
    """How a web is served."""

    home: Path  # of nginx itself
    roots: dict[str, Path]  # of each address
    tls: bool = False
    fresh_connections: bool = False
    port: int = PORT

    @property
    def log(self) -> Path:
        return self.home / "access.log"

    @property
    def authority(self) -> Path:
        """The certificate to trust."""
        return self.home / "authority.pem"

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        nginx = shutil.which("nginx") or shutil.which("nginx", path="/usr/sbin:/usr/local/sbin")
        if nginx is None:
            raise SystemExit("nginx is needed to serve the pages; it is in every distribution")
        self._expect_free_port()
        self.home.mkdir(parents=True, exist_ok=True)
        if self.tls:
            make_certificates(self.home, list(self.roots))
        (self.home / "nginx.conf").write_text(self._configuration())
        command = [nginx, "-p", str(self.home), "-c", "nginx.conf", "-e", str(self.home / "error.log")]
        server = subprocess.Popen(ending_with_us(command), stdin=subprocess.DEVNULL)
        try:
            self._wait_for(server)
            yield
        finally:
            server.terminate()
            server.wait(20)

    def _expect_free_port(self) -> None:
        """Else another benchmark's server would answer, and its log would be ours."""
        for address in self.roots:
            with socket.socket() as probe:
                probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
                try:
                    probe.bind((address, self.port))
                except OSError:
                    raise SystemExit(f"{address}:{self.port} is in use: run one benchmark at a time") from None

    def _wait_for(self, server: subprocess.Popen[bytes]) -> None:
        address = list(self.roots)[-1]
        for _ in range(200):
            if server.poll() is not None:
                raise SystemExit(f"nginx did not start: {(self.home / 'error.log').read_text()[-500:]}")
            with contextlib.suppress(OSError), socket.create_connection((address, self.port), 1):
                return
            time.sleep(0.05)
        raise SystemExit("nginx does not answer")

    def _configuration(self) -> str:
        secure = " ssl" if self.tls else ""
        listens = "\n".join(f"    listen {address}:{self.port}{secure} backlog=1024;" for address in self.roots)
        folders = "\n".join(f"    {address} {root};" for address, root in self.roots.items())
        certificate = "ssl_certificate server.pem; ssl_certificate_key server.key;" if self.tls else ""
        user = "user root;" if os.getuid() == 0 else ""  # the pages lie in a folder of ours
        return f"""
{user}
daemon off;
worker_processes 1;
pid nginx.pid;
worker_rlimit_nofile 60000;
events {{ worker_connections 20000; }}
http {{
  types {{ text/html html htm; application/xhtml+xml xhtml; text/plain txt; text/css css; image/png png; }}
  charset utf-8;
  sendfile on; tcp_nopush on; etag on;
  open_file_cache max=1000 inactive=10s;
  map_hash_max_size 65536; map_hash_bucket_size 256;
  keepalive_timeout {0 if self.fresh_connections else 75}s;
  keepalive_requests 1000000;
  log_format plain '$msec $request_time $server_addr $status $request_uri';
  access_log access.log plain;
  client_body_temp_path temp; proxy_temp_path temp; fastcgi_temp_path temp; uwsgi_temp_path temp; scgi_temp_path temp;
  map $server_addr $folder {{
{folders}
  }}
  server {{
{listens}
    {certificate}
    root $folder;
    index index.html;
  }}
}}
"""

    def clear_log(self) -> None:
        """The file stays the same, for nginx appends to it."""
        with self.log.open("r+b") as log:
            log.truncate(0)

    def requests(self) -> Iterator[Request]:
        with self.log.open() as lines:
            for line in lines:
                if line.endswith("\n"):
                    ended, took, address, status, path = line.split(" ", 4)
                    yield Request(float(ended), float(took), address, int(status), path.rstrip("\n"))


def make_certificates(home: Path, addresses: list[str]) -> None:
    """An authority and a certificate for all addresses, which it signed."""

    def openssl(*arguments: str) -> None:
        done = subprocess.run(["openssl", *arguments], cwd=home, capture_output=True, text=True, check=False)
        if done.returncode:
            raise SystemExit(f"openssl: {done.stderr[-300:]}")

    ec = ("-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256", "-nodes")
    openssl(
        *("req", "-x509", *ec, "-days", "30", "-subj", "/CN=benchmark", "-keyout", "authority.key"),
        *("-out", "authority.pem", "-addext", "keyUsage=critical,keyCertSign"),
    )
    names = ",".join(f"IP:{address}" for address in addresses)
    (home / "names.cnf").write_text(f"subjectAltName={names}\n")
    openssl("req", *ec, "-subj", "/CN=pages", "-keyout", "server.key", "-out", "server.csr")
    openssl(
        *("x509", "-req", "-in", "server.csr", "-CA", "authority.pem", "-CAkey", "authority.key", "-days", "30"),
        *("-extfile", "names.cnf", "-out", "server.pem"),
    )

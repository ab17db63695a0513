"""A few pages on a loopback port, for tests that have to know what stands on them."""

from __future__ import annotations

import threading
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

QUOTES = {
    "/": """<title>Quotes</title>
        <div class=quote id=q1><span class=text>Be <b>kind</b>.</span><span>by <small class=author>Ada</small>
        <a href=/ada>about</a></span><a class=tag>life</a><a class=tag>work</a></div>
        <div class=quote id=q2><span class=text>Stay.</span><small class=author>Bo</small></div><a href=/2>next</a>""",
    "/2": "<div class=quote id=q3><span class=text>Go.</span></div><a data-href=/hidden>more</a>",
    "/ada": "<title>Ada</title><p>" + "word " * 1200,
    "/hidden": "<p>found by a processor alone",
}


@contextmanager
def site(pages: Mapping[str, str]) -> Iterator[str]:
    """Serve these pages; gives the address of the first. Anything else is 404, robots.txt too."""

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_GET(self) -> None:
            body = pages.get(self.path)
            data = (body or "").encode()
            self.send_response(200 if body is not None else 404)
            self.send_header("Content-Type", "text/html; charset=utf-8")
            self.send_header("Content-Length", str(len(data)))
            self.end_headers()
            self.wfile.write(data)

        def log_message(self, format: str, *args: object) -> None:  # noqa: A002
            pass

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    server.daemon_threads = True
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.01}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}{next(iter(pages))}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()

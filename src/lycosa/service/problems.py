"""What goes wrong, in one shape: `{"error": {"code": …, "message": …}}`, with the status that says whose turn it is.

The message is one sentence that names the remedy. It repeats nothing that was sent, and nothing of our insides.
"""

from __future__ import annotations

import msgspec


class Problem(Exception):
    """Raised where a request cannot be answered; shown as JSON or as a page, whatever was asked for."""

    def __init__(self, status: int, code: str, message: str, retry_after_s: int | None = None) -> None:
        super().__init__(message)
        self.status = status
        self.code = code
        self.message = message
        self.retry_after_s = retry_after_s

    def headers(self) -> dict[str, str]:
        return {} if self.retry_after_s is None else {"Retry-After": str(self.retry_after_s)}

    def json(self) -> bytes:
        return msgspec.json.encode(Failure(Told(self.code, self.message)))


class Told(msgspec.Struct, frozen=True):
    code: str
    message: str


class Failure(msgspec.Struct, frozen=True):
    """The body of every answer that is none."""

    error: Told


def bad_parameter(message: str) -> Problem:
    return Problem(400, "bad_parameter", message)


def not_found() -> Problem:
    return Problem(404, "not_found", "There is nothing here: /search is the page, /openapi.json lists all there is.")


def overloaded() -> Problem:
    return Problem(503, "overloaded", "Too much is being asked at once: try again in a moment.", 1)


def unavailable() -> Problem:
    return Problem(503, "index_unavailable", "The index cannot be read at present: try again in a moment.", 5)

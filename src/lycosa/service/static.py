"""The files of the page, from the package. Their address holds a hash of what is in them, so browsers keep them."""

from __future__ import annotations

from hashlib import sha256
from importlib import resources
from typing import NamedTuple

from starlette.requests import Request as Asked
from starlette.responses import Response

from lycosa.service.problems import not_found

_TYPES = {"css": "text/css; charset=utf-8", "js": "text/javascript; charset=utf-8", "svg": "image/svg+xml"}
_LONG = "public, max-age=31536000, immutable"
_SHORT = "public, max-age=300"


class _File(NamedTuple):
    body: bytes
    type: str
    mark: str  # of what is in it


class StaticFiles:
    def __init__(self) -> None:
        self._files = {
            file.name: _File(body, _TYPES[file.name.rpartition(".")[2]], sha256(body).hexdigest()[:12])
            for file in resources.files(__package__).joinpath("static").iterdir()
            if file.name.rpartition(".")[2] in _TYPES and (body := file.read_bytes())
        }

    def address(self, name: str) -> str:
        return f"/static/{name}?v={self._files[name].mark}"

    async def answer(self, asked: Asked) -> Response:
        file = self._files.get(asked.path_params["name"])
        if file is None:
            raise not_found()
        is_exact = asked.query_params.get("v") == file.mark
        headers = {"Cache-Control": _LONG if is_exact else _SHORT, "ETag": f'"{file.mark}"'}
        if asked.headers.get("if-none-match") == headers["ETag"]:
            return Response(status_code=304, headers=headers)
        return Response(file.body, headers=headers, media_type=file.type)

"""Arrays in one file that is mapped into memory: a magic line, the arrays, a directory of them, and where that is.

    lycosa arrays 1\\n | array … array | directory (JSON) | offset, length and CRC-32 of the directory | the end mark

Arrays begin at multiples of 64 bytes and are little-endian. The directory has what the file is about, and of each array
its name, type, shape, place and CRC-32, which are compared when the file is opened. A file is written under a hidden
name, synced and renamed: who has an old one open keeps it. An end that is missing shows that a file is not whole.
"""

from __future__ import annotations

import mmap
import os
import struct
from collections.abc import Iterable, Mapping
from pathlib import Path
from types import TracebackType
from typing import Any, Self

import msgspec
import numpy as np
from isal.isal_zlib import crc32
from numpy.typing import NDArray

from lycosa.backends.durable import sync_directory
from lycosa.errors import LycosaError

FORMAT = 1
_MAGIC = b"lycosa arrays "
_HEAD = _MAGIC + b"%d\n" % FORMAT
_END = b"lycosa arrays end\n"
_TAIL = struct.Struct("<QQI")
_ALIGNED = 64
_TYPES = frozenset(("|S16", "|u1", "|b1", "<i4", "<i8", "<u8", "<f4", "<f8"))


class ArraysBroken(LycosaError):
    """A file of arrays that is damaged, not one, or of a newer version."""


class _Section(msgspec.Struct, frozen=True):
    name: str
    type: str
    shape: tuple[int, ...]
    offset: int
    check: int


class _Directory(msgspec.Struct, frozen=True):
    kind: str
    about: dict[str, Any]
    sections: list[_Section]


class ArrayFile:
    """An open file. Its arrays are views of the file: reading them reads the disk, and they cannot be written."""

    def __init__(self, about: dict[str, Any], arrays: dict[str, NDArray[Any]]) -> None:
        self.about = about
        self._arrays = arrays

    def __getitem__(self, name: str) -> NDArray[Any]:
        return self._arrays[name]

    def __contains__(self, name: str) -> bool:
        return name in self._arrays


def open_arrays(path: Path, kind: str, names: Iterable[str] = ()) -> ArrayFile:
    """Open a file and compare its checksums. FileNotFoundError if there is none; ArraysBroken says what to do else."""
    with path.open("rb") as file:
        size = os.fstat(file.fileno()).st_size
        if size < len(_HEAD) + _TAIL.size + len(_END):
            raise _broken(path, "is not whole")
        data = mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ)
    directory = _read_directory(path, data, size)
    if directory.kind != kind:
        raise _broken(path, f"holds {directory.kind}, not {kind}")
    try:
        arrays = {section.name: _view(path, data, section) for section in directory.sections}
    except (ValueError, TypeError):
        raise _broken(path, "is damaged") from None
    missing = [name for name in names if name not in arrays]
    if missing:
        raise _broken(path, f"has no {missing[0]}")
    return ArrayFile(directory.about, arrays)


def _read_directory(path: Path, data: mmap.mmap, size: int) -> _Directory:
    if data[: len(_HEAD)] != _HEAD:
        is_newer = data[: len(_MAGIC)] == _MAGIC
        raise _broken(path, "was written by another version of Lycosa" if is_newer else "is no file of ours")
    if data[size - len(_END) :] != _END:
        raise _broken(path, "is not whole")
    offset, length, check = _TAIL.unpack_from(data, size - len(_END) - _TAIL.size)
    packed = data[offset : offset + length]
    if len(packed) != length or crc32(packed) != check:
        raise _broken(path, "is damaged")
    try:
        return msgspec.json.decode(packed, type=_Directory)
    except msgspec.MsgspecError:
        raise _broken(path, "is damaged") from None


def _view(path: Path, data: mmap.mmap, section: _Section) -> NDArray[Any]:
    if section.type not in _TYPES:
        raise _broken(path, "is damaged")
    count = int(np.prod(section.shape, dtype=np.int64))
    if not count:
        return np.zeros(section.shape, section.type)
    array = np.frombuffer(data, section.type, count, section.offset)
    if crc32(array.view(np.uint8)) != section.check:
        raise _broken(path, "is damaged")
    return array.reshape(section.shape)


def _broken(path: Path, what: str) -> ArraysBroken:
    return ArraysBroken(f"{path} {what}: remove it and run lycosa rank again")


class ArrayWriter:
    """Writes a file, array after array. It takes its place when the `with` block ends, and not if that fails."""

    def __init__(self, path: Path, kind: str, about: Mapping[str, Any], *, synced: bool = True) -> None:
        self._path = path
        self._unfinished = path.with_name(f".{path.name}.part")
        self._kind, self._about, self._synced = kind, dict(about), synced
        self._sections: list[_Section] = []

    def __enter__(self) -> Self:
        self._path.parent.mkdir(parents=True, exist_ok=True)
        self._file = self._unfinished.open("wb")
        self._file.write(_HEAD)
        return self

    def add(self, name: str, array: NDArray[Any]) -> None:
        self.add_parts(name, array.dtype, [array], array.shape[1:])

    def add_parts(self, name: str, kind: Any, parts: Iterable[NDArray[Any]], rest: tuple[int, ...] = ()) -> None:
        """An array that is made piece by piece."""
        stored = np.dtype(kind).newbyteorder("<")
        self._file.write(bytes(-self._file.tell() % _ALIGNED))
        offset, check, rows = self._file.tell(), 0, 0
        for part in parts:
            plain = np.ascontiguousarray(part, stored).reshape(-1).view(np.uint8)
            if len(plain):
                self._file.write(plain.data)
                check = crc32(plain, check)
            rows += len(part)
        self._sections.append(_Section(name, stored.str, (rows, *rest), offset, check))

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        try:
            if error is None:
                self._finish()
        finally:
            self._file.close()
            self._unfinished.unlink(missing_ok=True)

    def _finish(self) -> None:
        packed = msgspec.json.encode(_Directory(self._kind, self._about, self._sections))
        offset = self._file.tell()
        self._file.write(packed + _TAIL.pack(offset, len(packed), crc32(packed)) + _END)
        self._file.flush()
        if self._synced:
            os.fsync(self._file.fileno())
        self._unfinished.replace(self._path)
        if self._synced:
            sync_directory(self._path.parent)

"""Forgetting in the tables: rows go, and rows of others no longer point at what is gone.

Copies first, then the rest: a copy has its text in the row of the page it is a copy of, so the first of those that
remain inherits it, while it is still there. Both steps can be repeated: a crash in the middle costs nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pyarrow as pa

from lycosa.backends.parquet import list_files, read_file, rewrite_file
from lycosa.crawl.forget import Intention
from lycosa.crawl.rules import origin_of

_INHERITED = ("text", "headings", "simhash")
_CHANGED = ("alias_of", "near_of", "warc_file", "warc_offset", "warc_length", *_INHERITED)
_SUBJECT = {"pages": "url", "links": "source", "requests": "url"}


class TableCleaner:
    """Cleans one directory of tables. `covers` says of a URL in any spelling whether it is to be forgotten."""

    def __init__(self, directory: Path, intention: Intention, covers: Callable[[str], bool]) -> None:
        self._directory = directory
        self._covers = covers
        self._moved = {(each.old_file, each.old_offset): each for each in intention.moved}

    def clean(self) -> int:
        """How many rows were about what is forgotten."""
        legacy = self._legacy()
        for file in list_files(self._directory, "pages"):
            columns = ("alias_of", "near_of", "warc_file", "warc_offset")
            if any(map(self._is_affected, read_file(file.path, "pages", columns))):
                rewrite_file(file.path, "pages", lambda rows: self._point_anew(rows, legacy))
        return sum(self._remove(table, file.path) for table in _SUBJECT for file in list_files(self._directory, table))

    def _legacy(self) -> dict[str, dict[str, Any]]:
        """What copies inherit, by content hash."""
        wanted, found = set[str](), dict[str, dict[str, Any]]()
        if not self._moved:
            return found
        for file in list_files(self._directory, "pages"):
            for row in read_file(file.path, "pages", ("warc_file", "warc_offset", "content_hash")):
                if (row["warc_file"], row["warc_offset"]) in self._moved:
                    wanted.add(row["content_hash"])
        for file in list_files(self._directory, "pages"):
            for row in read_file(file.path, "pages", ("url", "content_hash", *_INHERITED)):
                if row["content_hash"] in wanted and row["text"] is not None and self._covers(row["url"]):
                    found[row["content_hash"]] = row
        return found

    def _is_affected(self, row: dict[str, Any]) -> bool:
        return (
            (row["warc_file"], row["warc_offset"]) in self._moved
            or bool(row["alias_of"] and self._covers(row["alias_of"]))
            or bool(row["near_of"] and self._covers(row["near_of"]))
        )

    def _point_anew(self, rows: pa.Table, legacy: dict[str, dict[str, Any]]) -> pa.Table:
        told = rows.select(["url", "content_hash", *_CHANGED]).to_pylist()
        for row in told:
            now = self._moved.get((row["warc_file"], row["warc_offset"]))
            if row["alias_of"] and self._covers(row["alias_of"]):
                row["alias_of"] = now.alias_of or None if now is not None else None
            if row["near_of"] and self._covers(row["near_of"]):
                row["near_of"] = None
            if now is not None:
                row["warc_file"], row["warc_offset"], row["warc_length"] = now.file, now.offset, now.length
                if not now.alias_of and row["text"] is None:
                    row.update({name: legacy.get(row["content_hash"], row)[name] for name in _INHERITED})
        for name in _CHANGED:
            rows = _with(rows, name, [row[name] for row in told])
        return rows

    def _remove(self, table: str, path: Path) -> int:
        subject = _SUBJECT[table]
        count = sum(self._covers(row[subject]) for row in read_file(path, table, (subject,)))
        if count:
            rewrite_file(path, table, lambda rows: self._without(table, rows))
        return count

    def _without(self, table: str, rows: pa.Table) -> pa.Table:
        urls = rows[_SUBJECT[table]].to_pylist()
        gone = list(map(self._covers, urls))
        if table == "requests":
            # That a request was made stays provable; what it asked for does not stay.
            told = [f"{origin_of(url)}/" if hit else url for url, hit in zip(urls, gone, strict=True)]
            return _with(rows, "url", told)
        return rows.filter(pa.array([not hit for hit in gone], pa.bool_()))


def _with(rows: pa.Table, name: str, values: list[Any]) -> pa.Table:
    at = rows.schema.get_field_index(name)
    return rows.set_column(at, rows.schema.field(name), pa.array(values, rows.schema.field(name).type))

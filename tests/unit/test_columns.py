"""Columns read from entries say what the same entries say as values of Python."""

from __future__ import annotations

import math
from collections.abc import Sequence
from typing import Any

import msgspec
import pyarrow as pa
import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.backends.parquet import SCHEMAS, ParquetTables
from lycosa.crawl import feed
from lycosa.crawl.feed import LinkFound, PageRow, RequestRow
from lycosa.kit.columns import Column, read_columns

pytest.importorskip("lycosa.native", reason="lycosa.native is not there: no compiler where Lycosa was installed")

KINDS = ("sq", "sdt", "ssd")
PLACES = (0, ~0, ~1)
pack = msgspec.msgpack.encode

texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=40)
times = st.floats(0, 4e9)
pages = st.builds(
    PageRow,
    url=texts,
    host=texts,
    fetched_at=times,
    status=st.integers(-(2**15), 2**15 - 1),
    outcome=texts,
    content_type=st.none() | texts,
    bytes=st.integers(-(2**63), 2**63 - 1),
    title=st.none() | texts,
    text=st.none() | texts | st.integers(200, 70_000).map(lambda size: "é" * size),
    outlinks=st.integers(-(2**31), 2**31 - 1),
    simhash=st.none() | st.integers(0, 2**64 - 1),
    warc_offset=st.none() | st.integers(0, 2**62),
    fields=st.none() | texts,
)
requests = st.builds(
    RequestRow,
    texts,
    texts,
    st.none() | texts,
    times,
    st.none() | times,
    st.none() | st.integers(100, 999),
    texts,
    texts,
    st.integers(0, 2**40),
    st.none() | st.floats(allow_nan=False),
)
links = st.tuples(texts, texts, texts, texts, st.none() | texts)
entries = st.tuples(requests, st.none() | pages, st.lists(links, max_size=20)).map(
    lambda entry: entry if entry[1] is not None else (entry[0], None, [])
)


class Gathering:
    """A tables port that keeps what it is given, as Arrow has it."""

    def __init__(self) -> None:
        self._shapes = ParquetTables.__new__(ParquetTables)
        self.rows: dict[str, list[dict[str, Any]]] = {table: [] for table in SCHEMAS}
        self.from_memory = 0

    def kinds(self, table: str) -> str:
        return self._shapes.kinds(table)

    def shape(self, table: str, columns: Sequence[Any]) -> pa.Table:
        self.from_memory += isinstance(columns[0], Column)
        shaped = self._shapes.shape(table, columns)
        shaped.validate(full=True)
        return shaped

    def write(self, table: str, shaped: Sequence[pa.Table], first: int, last: int, day: str) -> None:
        self.rows[table] += pa.concat_tables(shaped).to_pylist()

    def drop_after(self, last: int) -> None: ...


def shaped(given: list[bytes]) -> Gathering:
    gathering = Gathering()
    parts = feed.Shaping(gathering)
    parts.add(given)
    parts.write(1, 1)
    return gathering


@given(st.lists(entries, min_size=1, max_size=6))
def test_both_ways_lead_to_the_same_tables(rows: list[tuple[RequestRow, PageRow | None, list[LinkFound]]]) -> None:
    for request, _, _ in rows:
        request.started_at = request.started_at % 86_400  # of one day: else only values of Python will do
    packed = [pack(row) for row in rows]
    fast = shaped(packed)
    assert fast.from_memory > 0
    slow = Gathering()
    parts = feed.Shaping(slow)
    parts.add_values(packed)
    parts.write(1, 1)
    assert slow.from_memory == 0
    assert fast.rows == slow.rows


def test_days_are_kept_apart_whichever_way_is_taken() -> None:
    rows = [RequestRow("h", "u", None, at, None, 200, "page", "fetched", 1, None) for at in (1.0, 90_000.0)]
    packed = [pack((row, None, [])) for row in rows]
    assert [row["started_at"].day for row in shaped(packed).rows["requests"]] == [1, 2]
    assert shaped(packed).from_memory == 0


def test_columns_lie_in_memory_as_arrow_has_them() -> None:
    with_page: Any = (["é", 7], ["p", 0.5, 2.0], [["l"], ["m"]])
    without: Any = (["", None], None, [])
    assert read_columns([pack(with_page), pack(without)], KINDS, PLACES) == [
        [
            Column(2, 0, None, b"\0\0\0\0\2\0\0\0\2\0\0\0", "é".encode()),
            Column(2, 1, b"\1", None, b"\7" + bytes(15)),
        ],
        [
            Column(1, 0, None, b"\0\0\0\0\1\0\0\0", b"p"),
            Column(1, 0, None, None, b"\0\0\0\0\0\0\xe0\x3f"),
            Column(1, 0, None, None, (2_000_000).to_bytes(8, "little")),
        ],
        [
            Column(2, 0, None, b"\0\0\0\0\1\0\0\0\2\0\0\0", b"lm"),
            Column(2, 0, None, b"\0\0\0\0\1\0\0\0\2\0\0\0", b"pp"),
            Column(2, 0, None, None, b"\0\0\0\0\0\0\xe0\x3f" * 2),
        ],
    ]


@pytest.mark.parametrize(
    "entry",
    [
        (["a"], None, []),  # a column is missing, as in what an older version wrote
        (["a", 1, 2], None, []),
        (["a", 2**63], None, []),  # does not fit
        (["a", 1.5], None, []),
        (["a", True], None, []),
        ([b"a", 1], None, []),
        ([{}, 1], None, []),
        ([["a"], 1], None, []),
        (["a", 1], None, [["link of no page"]]),
        (["a", 1], ["p", 0.5, math.nan], []),
        (["a", 1], ["p", 0.5, 1e300], []),
        (["a", 1], ["p", 0.5, 1.0], [["l", "more"]]),
        (["a", 1], ["p", 0.5, 1.0]),
        (["a", 1], ["p", 0.5, 1.0], [], []),
        ["a", 1],
    ],
)
def test_what_is_not_as_expected_is_left_to_python(entry: Any) -> None:
    assert read_columns([pack((["a", 1], None, [])), pack(entry)], KINDS, PLACES) is None


@given(st.lists(entries, min_size=1, max_size=2), st.data())
def test_no_bytes_lead_it_astray(rows: list[Any], data: st.DataObject) -> None:
    packed = bytearray(pack(rows[0]))
    for _ in range(data.draw(st.integers(1, 4))):
        packed[data.draw(st.integers(0, len(packed) - 1))] = data.draw(st.integers(0, 255))
    size = data.draw(st.integers(0, len(packed)))
    kinds = tuple(Gathering().kinds(table) for table in feed.COLUMNS)
    for damaged in (bytes(packed), bytes(packed[:size]), bytes(packed) + b"\xc0"):
        found = read_columns([damaged], kinds, feed._LINK_PLACES)  # type: ignore[arg-type]
        assert found is None or [column.count for column in found[0]] == [1] * len(feed.COLUMNS["requests"])


@pytest.mark.parametrize(
    ("kinds", "places"),
    [
        (("s", "s"), (0,)),
        (("s", "s", "x"), (0,)),
        (("s", "s", ""), ()),
        (("s", "s", "s"), (0, 1)),
        (("s", "s", "s"), (~1,)),
        (("s", "s", "s"), (64,)),
    ],
)
def test_kinds_and_places_have_to_fit(kinds: Any, places: tuple[int, ...]) -> None:
    with pytest.raises(ValueError, match=r"tables|kinds|place"):
        read_columns([], kinds, places)

"""Tables: rows come back, files are whole or absent, other tools read them, and newer formats are refused."""

from __future__ import annotations

import datetime
import os
import subprocess
import sys
import textwrap
from hashlib import sha256
from pathlib import Path

import pyarrow as pa
import pyarrow.compute as pc
import pyarrow.dataset as ds
import pyarrow.parquet as pq
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from lycosa.backends import parquet
from lycosa.backends.parquet import (
    SCHEMAS,
    TableTrouble,
    check_file,
    list_files,
    read_tables,
    read_unix,
    rewrite_file,
    write_columns,
    write_table,
)

AT = 1_763_240_000.123456
WHEN = datetime.datetime(2025, 11, 15, 20, 53, 20, 123456, tzinfo=datetime.UTC)
DAY = "2025-11-15"


def page(**changes) -> dict:
    row = {
        "url": "https://example.org/",
        "host": "example.org",
        "fetched_at": AT,
        "status": 200,
        "outcome": "fetched",
        "content_type": "text/html",
        "bytes": 1234,
        "title": "Title",
        "language": "en",
        "text": "Words",
        "outlinks": 3,
        "content_hash": "0" * 64,
        "simhash": 2**64 - 1,
        "depth": 1,
        "warc_file": "a.warc.gz",
        "warc_offset": 10,
        "warc_length": 20,
        "charset": "utf-8",
        "fields": "{}",
    }
    return row | changes


LINK = {"source": "https://a.example/", "target": "https://b.example/", "kind": "a", "rel": "nofollow", "text": "b"}
REQUEST = {"host": "a.example", "url": "https://a.example/robots.txt", "kind": "robots", "gap_s": 2.5, "bytes": 9}


def test_rows_come_back_with_nulls_where_nothing_was_given(tmp_path):
    write_table(tmp_path, "pages", [page()], 1, 1, DAY)
    [row] = read_tables(tmp_path, "pages")
    assert row == page(
        fetched_at=WHEN, alias_of=None, near_of=None, canonical=None, redirect_to=None, headings=None, directives=None
    )
    write_table(tmp_path, "links", [LINK | {"discovered_at": AT}], 1, 1, DAY)
    assert list(read_tables(tmp_path, "links")) == [LINK | {"discovered_at": WHEN, "refused": None}]
    write_table(tmp_path, "requests", [REQUEST | {"started_at": AT}], 1, 1, DAY)
    missing = {"address": None, "ended_at": None, "status": None, "outcome": None}
    assert list(read_tables(tmp_path, "requests")) == [REQUEST | missing | {"started_at": WHEN}]


def test_a_file_tells_its_day_its_range_and_its_version(tmp_path):
    path = write_table(tmp_path, "pages", [page()], 7, 1234, DAY, name="shard-03")
    assert path == tmp_path / "pages" / "date=2025-11-15" / "shard-03-000000000007-000000001234.parquet"
    told = pq.read_metadata(path).metadata
    assert (told[b"lycosa.format"], told[b"lycosa.first"], told[b"lycosa.last"]) == (b"1", b"7", b"1234")
    assert pq.read_metadata(path).row_group(0).column(0).compression == "ZSTD"
    assert list_files(tmp_path, "pages") == [parquet.TableFile(path, DAY, 7, 1234)]


def test_files_are_listed_by_day_then_by_range_and_also_below_the_day(tmp_path):
    late = write_table(tmp_path, "pages", [page()], 1, 1, "2025-11-16")
    second = write_table(tmp_path, "pages", [page()], 10, 11, DAY)
    first = write_table(tmp_path, "pages", [page()], 2, 9, DAY)
    deeper = first.parent / "h=0"
    deeper.mkdir()
    first.rename(deeper / first.name)
    assert [file.path for file in list_files(tmp_path, "pages")] == [deeper / first.name, second, late]
    assert list_files(tmp_path, "links") == []


def test_only_what_is_asked_for_is_read(tmp_path):
    rows = [page(url=f"https://example.org/{number}", bytes=number) for number in range(10)]
    write_table(tmp_path, "pages", rows, 0, 9, DAY)
    found = read_tables(tmp_path, "pages", columns=["url"], filter=pc.field("bytes") >= 8)
    assert list(found) == [{"url": "https://example.org/8"}, {"url": "https://example.org/9"}]


def test_writing_a_range_again_replaces_it(tmp_path):
    write_table(tmp_path, "pages", [page()], 1, 1, DAY)
    write_table(tmp_path, "pages", [page()], 1, 1, DAY)
    assert len(list(read_tables(tmp_path, "pages"))) == 1


def test_columns_are_given_in_their_order_and_all_of_them(tmp_path):
    link = ["http://a/", "http://b/", "a", None, "b", AT, "scope.host"]
    write_columns(tmp_path, "links", [[value] for value in link], 3, 3, DAY)
    [row] = read_tables(tmp_path, "links")
    assert (row["source"], row["discovered_at"], row["refused"]) == ("http://a/", WHEN, "scope.host")
    with pytest.raises(ValueError, match="zip"):
        write_columns(tmp_path, "links", [["http://a/"], ["http://b/"]], 4, 4, DAY)


def test_a_file_written_again_keeps_its_name_range_and_version(tmp_path):
    path = write_table(tmp_path, "pages", [page(bytes=1), page(bytes=2)], 7, 8, DAY)
    before = pq.read_metadata(path).metadata
    assert rewrite_file(path, "pages", lambda rows: rows.filter(pc.field("bytes") > 1)) == 1
    assert [row["bytes"] for row in read_tables(tmp_path, "pages")] == [2]
    assert rewrite_file(path, "pages", lambda rows: rows.filter(pc.field("bytes") > 2)) == 0
    assert list(read_tables(tmp_path, "pages")) == []
    assert list_files(tmp_path, "pages") == [parquet.TableFile(path, DAY, 7, 8)]
    told = pq.read_metadata(path).metadata
    assert {key: told[key] for key in told if key.startswith(b"lycosa")} == {
        key: before[key] for key in before if key.startswith(b"lycosa")
    }


def test_a_file_can_be_written_again_elsewhere(tmp_path):
    path = write_table(tmp_path, "pages", [page()], 1, 1, DAY)
    assert rewrite_file(path, "pages", lambda rows: rows, tmp_path / "copy" / "pages" / path.name) == 1
    assert len(list(read_tables(tmp_path / "copy", "pages"))) == len(list(read_tables(tmp_path, "pages"))) == 1


def test_times_come_back_as_the_seconds_they_were_written_as(tmp_path):
    path = write_table(tmp_path, "requests", [REQUEST | {"started_at": AT}], 1, 1, DAY)
    [row] = read_unix(path, "requests", ("host", "started_at", "ended_at"))
    assert row == {"host": "a.example", "started_at": pytest.approx(AT, abs=1e-6), "ended_at": None}
    [row] = read_unix(path, "requests")
    assert list(row) == SCHEMAS["requests"].names
    assert list(read_unix(path, "requests", ("host",), pc.field("host") == "b.example")) == []


def test_what_is_not_finished_is_not_listed(tmp_path):
    path = write_table(tmp_path, "pages", [page()], 1, 1, DAY)
    (path.parent / f".{path.name}.part").write_bytes(b"PAR1")
    (path.parent / f".{path.name}").write_bytes(b"PAR1")
    assert len(list_files(tmp_path, "pages")) == 1


def test_names_are_given_only_after_the_content_is_synced(tmp_path, monkeypatch):
    events: list[str] = []
    real = os.fsync
    monkeypatch.setattr(os, "fsync", lambda fd: events.append(os.readlink(f"/proc/self/fd/{fd}")) or real(fd))
    path = write_table(tmp_path, "pages", [page()], 1, 1, DAY)
    assert events == [str(path.with_name(f".{path.name}.part")), *map(str, (path.parent, path.parents[1], tmp_path))]


def test_any_text_can_be_stored(tmp_path):
    write_table(tmp_path, "pages", [page(title="half \ud83d", text="\x00\uffff😀")], 1, 1, DAY)
    [row] = read_tables(tmp_path, "pages", ["title", "text"])
    assert row == {"title": "half ?", "text": "\x00\uffff😀"}


@settings(deadline=None, max_examples=40)
@given(titles=st.lists(st.none() | st.text(), min_size=1, max_size=20), at=st.floats(0, 4e9))
def test_any_rows_come_back(tmp_path_factory, titles, at):
    directory = tmp_path_factory.mktemp("tables")
    write_table(directory, "pages", [page(title=title, fetched_at=at) for title in titles], 1, len(titles), DAY)
    rows = list(read_tables(directory, "pages", ["title", "fetched_at"]))
    assert [row["title"] for row in rows] == titles
    assert all(abs(row["fetched_at"].timestamp() - at) < 1e-5 for row in rows)


def test_no_rows_make_an_empty_file(tmp_path):
    write_table(tmp_path, "links", [], 1, 1, DAY)
    assert list(read_tables(tmp_path, "links")) == []


def test_a_newer_format_is_refused_in_one_sentence(tmp_path, monkeypatch):
    monkeypatch.setattr(parquet, "FORMAT", 2)
    write_table(tmp_path, "pages", [page()], 1, 1, DAY)
    monkeypatch.undo()
    with pytest.raises(TableTrouble, match="has table format 2, this version reads up to 1: use a newer Lycosa"):
        list(read_tables(tmp_path, "pages"))


def test_a_file_from_before_a_column_existed_reads_as_null(tmp_path):
    path = write_table(tmp_path, "pages", [page()], 1, 1, DAY)
    old = pq.ParquetFile(path).read().drop_columns(["fields", "charset", "directives"])
    pq.write_table(old.replace_schema_metadata({"lycosa.format": "1"}), path)
    [row] = read_tables(tmp_path, "pages", ["url", "fields"])
    assert row == {"url": "https://example.org/", "fields": None}


def test_a_damaged_file_and_an_unknown_table_are_named(tmp_path):
    path = write_table(tmp_path, "pages", [page()], 1, 1, DAY)
    path.write_bytes(path.read_bytes()[:-10])
    with pytest.raises(TableTrouble, match="is not a whole Parquet file"):
        list(read_tables(tmp_path, "pages"))
    with pytest.raises(TableTrouble, match="there is no table 'page': the tables are pages, links, requests"):
        list_files(tmp_path, "page")


def test_a_flipped_bit_in_the_rows_is_found(tmp_path):
    rows = [page(text=sha256(b"%d" % number).hexdigest() * 9) for number in range(500)]
    path = write_table(tmp_path, "pages", rows, 1, 500, DAY)
    assert check_file(path) is None
    whole = path.read_bytes()
    text = pq.read_metadata(path).row_group(0).column(SCHEMAS["pages"].names.index("text"))
    for at in range(text.data_page_offset + 2_000, text.data_page_offset + text.total_compressed_size, 3_000):
        path.write_bytes(whole[:at] + bytes([whole[at] ^ 4]) + whole[at + 1 :])
        fault = check_file(path)
        assert fault is not None
        assert fault.startswith(path.name)
    path.write_bytes(whole[:-9])
    assert "is not a whole Parquet file" in check_file(path)


def test_a_row_without_what_every_row_has_is_an_error_not_a_file(tmp_path):
    with pytest.raises(ValueError, match="url"):
        write_table(tmp_path, "pages", [{"host": "x", "fetched_at": AT}], 1, 1, DAY)
    assert list_files(tmp_path, "pages") == []


def test_a_full_disk_is_one_clear_sentence_and_leaves_nothing(tmp_path):
    script = """
        import pathlib, resource, sys
        sys.path.insert(0, sys.argv[1])
        from test_parquet import page, write_table, TableTrouble, DAY
        resource.setrlimit(resource.RLIMIT_FSIZE, (2_000, resource.RLIM_INFINITY))
        try:
            write_table(pathlib.Path(sys.argv[2]), "pages", [page()], 1, 1, DAY)
        except TableTrouble as error:
            print(error)
    """
    command = [sys.executable, "-c", textwrap.dedent(script), str(Path(__file__).parent), str(tmp_path)]
    done = subprocess.run(command, capture_output=True, text=True, check=True, timeout=60)
    assert done.stdout.startswith(f"cannot write the table pages in {tmp_path}: ")
    assert not [path for path in tmp_path.rglob("*") if path.is_file()]


def test_arrow_reads_a_table_as_a_hive_dataset(tmp_path):
    for day in (DAY, "2025-11-16"):
        write_table(tmp_path, "pages", [page()], 1, 1, day)
    table = ds.dataset(tmp_path / "pages", partitioning="hive").to_table()
    assert table.num_rows == 2
    assert table["date"].to_pylist() == [DAY, "2025-11-16"]
    assert set(SCHEMAS["pages"].names) <= set(table.column_names)
    assert table.schema.field("fetched_at").type == pa.timestamp("us", tz="UTC")


def test_duckdb_and_polars_read_a_table_as_it_is(tmp_path):
    duckdb = pytest.importorskip("duckdb")
    polars = pytest.importorskip("polars")
    write_table(tmp_path, "pages", [page(), page(bytes=6)], 1, 2, DAY)
    where = f"{tmp_path}/pages/**/*.parquet"
    query = f"select count(*), sum(bytes), max(date)::varchar from read_parquet('{where}', hive_partitioning=true)"
    assert duckdb.connect().execute(query).fetchall() == [(2, 1240, DAY)]
    frame = polars.scan_parquet(tmp_path / "pages", hive_partitioning=True).collect()
    assert frame["simhash"].to_list() == [2**64 - 1] * 2

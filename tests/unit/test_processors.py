"""Processors see each page once, their failures cost nothing but themselves, and what they say is capped."""

from __future__ import annotations

import asyncio
import json
import logging
import os
import sys
from collections import Counter
from collections.abc import Callable, Iterator
from itertools import count
from pathlib import Path
from typing import Any

import pytest

from lycosa.backends.records import Records
from lycosa.backends.warc import WriteFailed
from lycosa.crawl import processors as module
from lycosa.crawl.processors import Findings, Gathered, Processor, Processors, load, tally
from lycosa.crawl.rows import FORMAT, UrlRow
from lycosa.crawl.view import PageView, view_of
from lycosa.errors import BadSetting
from lycosa.model import Response, Timings
from lycosa.web.headers import Headers
from lycosa.web.html import read_page

HTML = "<base href=/dir/><title>T</title><h1>One</h1><a href=x>x</a><a href=x#y>x</a><a href='/z' rel=nofollow>z</a>"


def view(body: str = HTML, content_type: str = "text/html") -> PageView:
    data, headers = body.encode(), Headers([("Content-Type", content_type)])
    response = Response("http://a/p", 200, "OK", "1.1", headers, b"", b"", data, data, "", "", 7.5, Timings())
    row = UrlRow(FORMAT, "http://a/p", "", "done", 2, 1, 0.0)
    page = read_page(data, "http://a/p") if content_type == "text/html" else None
    return view_of(row, response, content_type, b"\1" * 32, page)


def run(*processors: Callable[[PageView], Any], page: PageView | None = None) -> Gathered:
    named: list[tuple[str, Processor]] = [(f"p{number}", each) for number, each in enumerate(processors)]
    return Processors(named, timer=lambda: 0.0).run(page or view())


def fields_of(gathered: Gathered) -> dict[str, Any]:
    return json.loads(gathered.fields_json() or "{}")


# -- what they see ----------------------------------------------------------------------------------------------------


def test_a_page_is_seen_with_all_that_is_known_of_it() -> None:
    page = view()
    assert (page.url, page.status, page.content_type, page.fetched_at, page.depth) == (
        "http://a/p",
        200,
        "text/html",
        7.5,
        2,
    )
    assert page.headers.get("content-type") == "text/html"
    assert page.body == HTML.encode()
    assert page.content_hash == "01" * 32
    assert page.title == "T"
    assert "One" in page.text
    assert page.links == ["http://a/dir/x", "http://a/dir/x#y"]
    assert page.join("../q") == "http://a/q"
    assert page.join("http://[") is None
    assert page.css("h1").get() == "One"
    assert page.extract({"title": "h1", "urls": ["a::url"]})["urls"][0] == "http://a/dir/x"


def test_what_is_not_html_has_a_body_and_nothing_to_select_from() -> None:
    page = view("%PDF", "application/pdf")
    assert (page.page, page.title, page.text, page.main_text, page.links) == (None, "", "", "", [])
    assert page.css("h1").getall() == []
    assert page.extract({"title": "h1", "all": ["h1"]}) == {"title": None, "all": []}


def test_all_processors_share_one_view_and_one_tree_that_is_built_when_asked_for() -> None:
    seen: list[PageView] = []
    trees: list[object] = []

    def look(page: PageView) -> None:
        seen.append(page)
        trees.append(vars(page).get("_root"))
        page.css("h1")

    run(look, look, look)
    assert len({id(page) for page in seen}) == 1
    assert trees[0] is None
    assert trees[1] is trees[2] is not None


# -- what they say ----------------------------------------------------------------------------------------------------


def test_fields_records_and_links_come_out_and_a_mapping_means_fields() -> None:
    found = run(
        lambda page: {"words": 3, "title": page.title},
        lambda page: None,
        lambda page: Findings(fields={"words": 4}, records=[{"a": 1}, {"b": [None, "é\n"]}], links=["y", "/z"]),
    )
    assert fields_of(found) == {"words": 4, "title": "T"}, "the later wins"
    assert found.links == ["y", "/z"]
    told = [json.loads(line) for line in found.records["p2"]]
    where = {"url": "http://a/p", "fetched_at": 7.5, "content_hash": "01" * 32}
    assert told == [{**where, "record": {"a": 1}}, {**where, "record": {"b": [None, "é\n"]}}]
    assert all(line.endswith(b"\n") and line.count(b"\n") == 1 for line in found.records["p2"])
    assert found.failures == []
    assert found.counts == {"processor_records:p2": 2, "processor_us:p0": 0, "processor_us:p1": 0, "processor_us:p2": 0}


def raises(error: BaseException) -> Callable[[PageView], None]:
    def processor(page: PageView) -> None:
        raise error

    return processor


def recurses(page: PageView) -> None:
    recurses(page)


def endless() -> Iterator[str]:
    yield from (f"/{number}" for number in count())


@pytest.mark.parametrize(
    "broken",
    [
        raises(ValueError("no")),
        raises(SystemExit(1)),
        raises(asyncio.CancelledError()),
        raises(GeneratorExit()),
        raises(MemoryError()),
        recurses,
        lambda page: 7,
        lambda page: ["a"],
        lambda page: {"a": object()},
        lambda page: {1: "a"},
        lambda page: {"a": "\ud800"},
        lambda page: Findings(records=[["a"]]),  # type: ignore[list-item]
        lambda page: Findings(records=[{"a": {1, object()}}]),
        lambda page: Findings(links=[None]),  # type: ignore[list-item]
        lambda page: Findings(links="http://a/"),
        lambda page: Findings(fields=None),  # type: ignore[arg-type]
        lambda page: Findings(fields={"kept": "no"}, links=[3]),  # type: ignore[list-item]
    ],
)
def test_one_that_fails_is_counted_and_costs_nothing_but_what_it_said(broken: Callable[[PageView], Any]) -> None:
    found = run(lambda page: {"before": 1}, broken, lambda page: Findings(fields={"after": 2}, links=["/x"]))
    assert fields_of(found) == {"before": 1, "after": 2}
    assert found.links == ["/x"]
    assert found.records == {}
    assert found.failures == ["p1"]
    assert found.counts["processor_failed:p1"] == 1


def test_a_keyboard_interrupt_is_not_a_failure_of_a_processor() -> None:
    with pytest.raises(KeyboardInterrupt):
        run(raises(KeyboardInterrupt()))


def test_a_failure_is_told_once_for_each_kind(caplog: pytest.LogCaptureFixture) -> None:
    errors = iter([ValueError("first"), ValueError("second"), KeyError("third")])

    def processor(page: PageView) -> None:
        raise next(errors)

    both = Processors([("bad", processor)])
    with caplog.at_level(logging.WARNING, "lycosa"):
        for _ in range(3):
            both.run(view())
    assert [("first" in line.getMessage(), "third" in line.getMessage()) for line in caplog.records] == [
        (True, False),
        (False, True),
    ]
    assert "processor bad failed on http://a/p" in caplog.records[0].getMessage()


def test_fields_over_the_cap_are_cut_and_counted_across_processors() -> None:
    half = "x" * (module.MOST_FIELD_BYTES // 2)
    found = run(lambda page: {"a": half}, lambda page: {"b": half, "c": 1})
    assert len(found.fields_json()) <= module.MOST_FIELD_BYTES
    assert sorted(fields_of(found)) == ["a", "c"]
    assert found.counts["processor_cut:p1"] == 1
    assert found.failures == []


def test_records_over_the_caps_are_cut_and_counted() -> None:
    found = run(lambda page: Findings(records=[{"n": number} for number in range(1_500)]))
    assert len(found.records["p0"]) == module.MOST_RECORDS
    assert found.counts["processor_cut:p0"] == 500
    large = {"x": "y" * module.MOST_RECORD_BYTES}
    found = run(lambda page: Findings(records=[large, {"n": 1}]))
    assert len(found.records["p0"]) == found.counts["processor_cut:p0"] == 1
    heavy = {"x": "y" * (module.MOST_RECORD_BYTES - 300)}
    found = run(lambda page: Findings(records=[heavy] * 500), lambda page: Findings(records=[heavy] * 500))
    assert sum(len(line) for lines in found.records.values() for line in lines) <= module.MOST_RECORDS_BYTES
    assert found.counts["processor_cut:p1"] == 500


def test_links_over_the_caps_are_cut_and_counted_though_they_never_end() -> None:
    found = run(lambda page: Findings(links=endless()), lambda page: Findings(links=["/one-more"]))
    assert len(found.links) == module.MOST_LINKS
    assert found.counts["processor_cut:p0"] == found.counts["processor_cut:p1"] == 1
    found = run(lambda page: Findings(links=["/" + "x" * 9_000, "/y"]))
    assert found.links == ["/y"]
    assert found.counts["processor_cut:p0"] == 1


def test_the_time_a_processor_takes_is_counted() -> None:
    ticks = iter([1.0, 1.5, 2.0, 2.25])
    found = Processors([("a", lambda page: None), ("b", lambda page: None)], timer=lambda: next(ticks)).run(view())
    assert found.counts == {"processor_us:a": 500_000, "processor_us:b": 250_000}


def test_the_counts_of_a_crawl_are_told_by_processor() -> None:
    stats = Counter({"fetched": 3, "processor_us:a": 500_000, "processor_failed:b": 2, "processor_records:a": 7})
    assert tally(stats) == {
        "a": {"records": 7, "failed": 0, "cut": 0, "time_s": 0.5},
        "b": {"records": 0, "failed": 2, "cut": 0, "time_s": 0.0},
    }


# -- which they are ---------------------------------------------------------------------------------------------------


@pytest.fixture
def here(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A working directory of our own; what is imported from it is forgotten."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(sys, "path", list(sys.path))
    before = set(sys.modules)
    yield tmp_path
    for name in set(sys.modules) - before:
        del sys.modules[name]


def test_none_are_named_so_none_run() -> None:
    assert not load([])
    assert load([]).run(view()) == Gathered()


def test_a_function_is_found_by_its_module_also_in_the_working_directory(here: Path) -> None:
    (here / "mine_one.py").write_text("def words(page):\n    return {'words': len(page.text.split())}\n")
    found = load(["mine_one:words"])
    assert found.names == ("mine_one.words",)
    assert fields_of(found.run(view()))["words"] > 0


def test_a_file_of_selectors_is_a_processor(here: Path) -> None:
    (here / "heads.toml").write_text('base = "h1, a"\n[fields]\ntext = ""\nto = "::url"\n')
    found = load(["items:heads.toml"])
    assert found.names == ("heads",)
    lines = [json.loads(line)["record"] for line in found.run(view()).records["heads"]]
    assert lines[:2] == [{"text": "One", "to": None}, {"text": "x", "to": "http://a/dir/x"}]
    assert found.run(view("%PDF", "application/pdf")).records == {}


@pytest.mark.parametrize(
    ("names", "says"),
    [
        (["no-such"], "there is no processor 'no-such': installed are .*module:function or items:FILE.toml"),
        (["no_such:thing"], "'no_such:thing' cannot be loaded: ModuleNotFoundError"),
        (["mine_two:thing"], "'mine_two:thing' cannot be loaded: AttributeError"),
        (["mine_bad:thing"], "'mine_bad:thing' cannot be loaded: SyntaxError"),
        (["mine_two:NUMBER"], "is a int: name a function"),
        (["mine_two:Kind"], "is a type: name a function"),
        (["mine_two:waits"], "waits or yields"),
        (["mine_two:yields"], "waits or yields"),
        (["mine_two:fine", "mine_two:fine"], "names 'mine_two.fine' twice"),
        (["items:no.toml"], "no.toml cannot be read"),
        (["items:bad.toml"], "bad.toml is not a TOML file"),
        (["items:odd.toml"], "odd.toml: field 'a': 'h1\\[' is not a CSS selector"),
        (["items:heads"], "'items:heads' cannot be loaded"),
        ([""], "there is no processor ''"),
    ],
)
def test_what_cannot_be_used_is_said_in_one_sentence_before_anything_is_fetched(
    names: list[str], says: str, here: Path
) -> None:
    (here / "mine_bad.py").write_text("def thing(:")
    (here / "mine_two.py").write_text(
        "NUMBER = 1\nclass Kind: pass\nasync def waits(page): pass\ndef yields(page): yield 1\ndef fine(page): pass\n"
    )
    (here / "bad.toml").write_text("base = ")
    (here / "odd.toml").write_text("fields = {a = 'h1['}")
    with pytest.raises(BadSetting, match=says):
        load(names)


# -- where records go -------------------------------------------------------------------------------------------------


def test_records_are_appended_line_by_line_and_synced(tmp_path: Path) -> None:
    records = Records(tmp_path / "records")
    assert not (tmp_path / "records").exists(), "nothing is made before there is something to write"
    records.append("a", [b'{"n":1}\n', b'{"n":2}\n'])
    records.append("b", [])
    records.append("a", [b'{"n":3}\n'])
    records.sync()
    records.close()
    assert (tmp_path / "records" / "a.jsonl").read_bytes() == b'{"n":1}\n{"n":2}\n{"n":3}\n'
    assert os.listdir(tmp_path / "records") == ["a.jsonl"]


@pytest.mark.parametrize("torn", [b'{"n":2', b'{"n":2}', b"\0" * 200_000, b""])
def test_a_line_that_a_crash_has_torn_is_cut_off_before_the_next(tmp_path: Path, torn: bytes) -> None:
    file = tmp_path / "a.jsonl"
    for whole in (b"", b'{"n":1}\n' * 20_000):
        file.write_bytes(whole + torn)
        records = Records(tmp_path)
        records.append("a", [b'{"n":3}\n'])
        records.close()
        assert file.read_bytes() == whole + b'{"n":3}\n'


def test_a_disk_that_is_full_leaves_whole_lines_and_says_so(tmp_path: Path) -> None:
    resource = pytest.importorskip("resource")
    signal = pytest.importorskip("signal")
    records = Records(tmp_path)
    records.append("a", [b'{"n":1}\n'])
    before, ignored = resource.getrlimit(resource.RLIMIT_FSIZE), signal.signal(signal.SIGXFSZ, signal.SIG_IGN)
    resource.setrlimit(resource.RLIMIT_FSIZE, (100, before[1]))
    try:
        with pytest.raises(WriteFailed, match="cannot be written"):
            records.append("a", [b"x" * 1_000 + b"\n"])
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, before)
        signal.signal(signal.SIGXFSZ, ignored)
    records.append("a", [b'{"n":2}\n'])
    records.close()
    assert (tmp_path / "a.jsonl").read_bytes() == b'{"n":1}\n{"n":2}\n'


def test_a_place_that_cannot_be_written_is_an_error_with_a_remedy(tmp_path: Path) -> None:
    (tmp_path / "records").write_text("a file")
    with pytest.raises(WriteFailed, match="start again"):
        Records(tmp_path / "records").append("a", [b"{}\n"])

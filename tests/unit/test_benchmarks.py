"""The benchmarks' own parts: a web that is the same every time, and an audit that finds what is wrong."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from benchmarks.flame import read_stacks
from benchmarks.flame_svg import flame
from benchmarks.gaps import audit
from benchmarks.made_web import MadeWeb
from benchmarks.real_web import RealWeb
from benchmarks.serving import Request


def test_the_same_seed_makes_the_same_pages() -> None:
    web, again, other = MadeWeb(3, 20, seed=4), MadeWeb(3, 20, seed=4), MadeWeb(3, 20, seed=5)
    assert [web.page(2, page) for page in range(20)] == [again.page(2, page) for page in range(20)]
    assert web.page(2, 7) != other.page(2, 7)
    assert len({web.page(host, page) for host in range(3) for page in range(20)}) == 60


@pytest.mark.parametrize("page_kb", [20, 100])
def test_pages_have_the_size_that_was_asked_for(page_kb: int) -> None:
    web = MadeWeb(2, 30, page_kb)
    mean = sum(len(web.page(0, page)) for page in range(30)) / 30
    assert mean == pytest.approx(page_kb * 1000, rel=0.15)


def test_links_lead_to_every_page() -> None:
    web = MadeWeb(4, 50)
    todo, met = [(0, 0)], {(0, 0)}
    numbers = {web.address(host): host for host in range(4)}
    while todo:
        host, page = todo.pop()
        for href in re.findall(r'href="([^"]+)"', web.page(host, page)):
            other = numbers[href.split("/")[2].partition(":")[0]] if href.startswith("http") else host
            target = (other, int(href.rpartition("-")[2].removesuffix(".html")) if "page-" in href else 0)
            if target not in met:
                met.add(target)
                todo.append(target)
    assert met == {(host, page) for host in range(4) for page in range(50)}
    assert len(web.reachable()) == 200


def test_pages_of_a_folder_are_reached_by_links_only(tmp_path: Path) -> None:
    (tmp_path / "sub").mkdir()
    (tmp_path / "index.html").write_text('<a href="sub/">x</a> <a href="gone.html">y</a> <a href="a.txt">z</a>')
    (tmp_path / "sub/index.html").write_text('<a href="../index.html#top">up</a><a href="b%20c.html?q">x</a>')
    (tmp_path / "sub/b c.html").write_text("end")
    (tmp_path / "alone.html").write_text("nobody links here")
    web = RealWeb((tmp_path,))
    assert {path for _, path in web.reachable()} == {"/", "/sub/", "/sub/b c.html"}
    assert web.seeds() == ["http://127.2.0.1:8290/"]


def visit(started_at: float, ended_at: float, address: str = "127.1.0.1") -> Request:
    return Request(ended_at, ended_at - started_at, address, 200, "/x")


def test_the_audit_finds_a_gap_that_was_not_kept() -> None:
    kept = [visit(0, 0.5), visit(2.5, 2.6), visit(0.1, 0.2, "127.1.0.2"), visit(4.6, 4.7)]
    assert audit(kept, 2.0).violations == 0
    broken = audit([*kept, visit(6.5, 6.6)], 2.0)
    assert broken.violations == 1
    assert broken.worst == "127.1.0.1/x"
    assert broken.least_gap_s == pytest.approx(1.8)


def test_the_audit_finds_requests_that_overlap() -> None:
    long_one = [visit(0, 10), visit(3, 4), visit(12, 13)]
    found = audit(long_one, 2.0)
    assert found.violations == 1
    assert found.least_gap_s == pytest.approx(-7)


def test_a_flame_graph_is_as_wide_as_its_stacks() -> None:
    svg = flame({"main;read;parse": 30, "main;read": 10, "main;<wait>": 60}, "a crawl")
    assert svg.startswith("<svg")
    assert "&lt;wait&gt;" in svg
    assert "read: 40.0 %" in svg


def test_stacks_name_modules_and_no_folders() -> None:
    start = 'process 7:"/home/x/python -m lycosa";run (lycosa/cli/main.py:3);'
    text = f"{start}main (click/core.py:9) 5\n{start}load (<frozen importlib>:1);main (click/core.py:7) 2\n"
    assert read_stacks(text) == {"process;lycosa.cli.main run;click.core main": 7}

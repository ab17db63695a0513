"""Processors in whole crawls: from an installed package, from a file of selectors, and through crashes."""

from __future__ import annotations

import asyncio
import json
import os
import re
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import small_crawl
from little_site import QUOTES, site
from pyarrow import parquet

ROOT = Path(__file__).parents[2]
PACKAGE = ROOT / "examples" / "processor-package"


def crawl_of(seed: str, directory: Path, processors: list[str], *more: str) -> list[str]:
    named = f"crawl.processors={json.dumps(processors)}"
    return [sys.executable, "-m", "lycosa", *small_crawl.crawl_of(seed, directory, "-s", named, "--json", *more)]


def run(command: list[str], env: Mapping[str, str] | None = None, code: int = 0) -> tuple[str, str]:
    given = {**os.environ, **(env or {})}
    done = subprocess.run(command, env=given, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == code, done.stderr
    return done.stdout, done.stderr


def records(directory: Path, name: str) -> list[dict[str, Any]]:
    return [json.loads(line) for line in (directory / "records" / f"{name}.jsonl").read_bytes().splitlines()]


def fields(directory: Path) -> dict[str, Any]:
    """What processors added to the table of pages."""
    found: dict[str, Any] = {}
    for file in (directory / "tables" / "pages").rglob("*.parquet"):
        table = parquet.ParquetFile(file).read(["url", "fields"]).to_pylist()
        found |= {row["url"]: json.loads(row["fields"] or "{}") for row in table}
    return found


def pages(directory: Path) -> dict[str, dict[str, Any]]:
    out, _ = run([sys.executable, "-m", "lycosa", "pages", "--dir", str(directory), "--limit", "100000", "--json"])
    return {page["url"]: page for page in map(json.loads, out.splitlines())}


@pytest.fixture(scope="module")
def installed(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory into which the example package was installed."""
    target = tmp_path_factory.mktemp("installed")
    command = [sys.executable, "-m", "pip", "install", "--quiet", "--no-deps", "--target", str(target), str(PACKAGE)]
    for how in ([], ["--no-build-isolation"]):  # without a registry, perhaps the build backend is here already
        done = subprocess.run([*command, *how], capture_output=True, text=True, timeout=300, check=False)
        if done.returncode == 0:
            return target
    pytest.skip(f"the package cannot be built here: {done.stderr.strip().splitlines()[-1]}")


def test_an_installed_package_is_a_processor_when_it_is_named(installed: Path, tmp_path: Path) -> None:
    with site(QUOTES) as seed:
        run(crawl_of(seed, tmp_path / "crawl", ["long-reads"]), {"PYTHONPATH": str(installed)})
    found = records(tmp_path / "crawl", "long-reads")
    assert [(line["url"], line["record"]) for line in found] == [(f"{seed}ada", {"title": "Ada", "minutes": 6})]
    listed = pages(tmp_path / "crawl")
    assert found[0]["content_hash"] == listed[f"{seed}ada"]["content_hash"]
    assert listed[f"{seed}hidden"]["depth"] == 2, "a link that only the processor saw was followed"
    kept = fields(tmp_path / "crawl")
    assert kept[f"{seed}ada"] == {"words": 1200}
    assert all(each.keys() == {"words"} for each in kept.values())


def test_an_installed_package_does_nothing_by_itself(installed: Path, tmp_path: Path) -> None:
    with site(QUOTES) as seed:
        run(crawl_of(seed, tmp_path / "crawl", []), {"PYTHONPATH": str(installed)})
    assert not (tmp_path / "crawl" / "records").exists()
    assert len(pages(tmp_path / "crawl")) == 3


def test_an_unknown_processor_is_one_sentence_that_names_the_known_ones(installed: Path, tmp_path: Path) -> None:
    command = crawl_of("http://127.0.0.1:9/", tmp_path / "crawl", ["long-read"])
    out, err = run(command, {"PYTHONPATH": str(installed)}, code=2)
    assert out == ""
    assert err.count("\n") == 1
    assert "installed are long-reads" in err


def test_a_file_of_selectors_needs_no_python(tmp_path: Path) -> None:
    with site(QUOTES) as seed:
        run(crawl_of(seed, tmp_path / "crawl", [f"items:{ROOT / 'examples' / 'quotes.toml'}"]))
    found = {line["record"]["id"]: line["record"] for line in records(tmp_path / "crawl", "quotes")}
    assert sorted(found) == ["q1", "q2", "q3"]
    assert found["q1"] == {
        "text": "Be kind.",
        "author": "Ada",
        "tags": ["life", "work"],
        "about": f"{seed}ada",
        "id": "q1",
    }


def test_processors_that_fail_or_take_their_time_never_lose_a_page(tmp_path: Path) -> None:
    (tmp_path / "mine_bad.py").write_text(
        "import sys\n"
        "def leaves(page): sys.exit('gone')\n"
        "def recurses(page): return recurses(page)\n"
        "def floods(page): return {'x': 'y' * 1_000_000, 'kept': 1}\n"
    )
    names = ["mine_bad:leaves", "mine_bad:recurses", "mine_bad:floods"]
    with site(QUOTES) as seed:
        out, err = run(crawl_of(seed, tmp_path / "crawl", names), {"PYTHONPATH": str(tmp_path)})
    assert json.loads(out)["pages"]["fetched"] == 3
    assert len(re.findall("processor mine_bad.leaves failed", err)) == 1
    assert len(re.findall("processor mine_bad.recurses failed", err)) == 1
    assert set(fields(tmp_path / "crawl")) == set(pages(tmp_path / "crawl"))
    assert all(each == {"kept": 1} for each in fields(tmp_path / "crawl").values())


def test_a_crawl_that_is_killed_again_and_again_has_a_record_of_every_page(tmp_path: Path) -> None:
    (tmp_path / "heads.toml").write_text('fields = {title = "h1"}')

    async def main() -> None:
        async with small_crawl.web(latency=0.2) as served:
            names = [f"items:{tmp_path / 'heads.toml'}"]
            command = crawl_of(served.seeds(1)[0], tmp_path / "crawl", names, "-s", "fetch.slots=8")
            for moment in (15, 45, 80):
                process = await asyncio.create_subprocess_exec(*command, stdout=-3, stderr=-3)
                while served.requests < moment and process.returncode is None:  # noqa: ASYNC110 - all there is to watch
                    await asyncio.sleep(0.01)
                process.kill()
                await process.wait()
                with (tmp_path / "crawl" / "records" / "heads.jsonl").open("ab") as file:
                    file.write(b'{"url":"to')  # as a power cut leaves it
            process = await asyncio.create_subprocess_exec(*command, stdout=-3, stderr=-3)
            assert await process.wait() == 0

    asyncio.run(main())
    lines = records(tmp_path / "crawl", "heads")
    told = {line["url"] for line in lines if line["record"]["title"]}
    fetched = {
        url
        for url, page in pages(tmp_path / "crawl").items()
        if page["status"] == 200 and page["content_type"] == "text/html"
    }
    assert told == fetched
    assert len(lines) <= len(told) + 3 * 8, "a visit that was cut off is repeated, no other"


def test_the_documentation_shows_the_example_as_it_is() -> None:
    shown = (ROOT / "docs" / "processors.md").read_text()
    assert (PACKAGE / "src" / "lycosa_long_reads" / "__init__.py").read_text().strip() in shown
    points = (PACKAGE / "pyproject.toml").read_text().partition("[project.entry-points")[2].strip()
    assert points in shown

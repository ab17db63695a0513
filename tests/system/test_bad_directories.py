"""Bad seeds, bad directories, damaged files: one sentence that names the remedy, exit code 2, nothing touched."""

from __future__ import annotations

import asyncio
import os
import shutil
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import NamedTuple

import msgspec
import pytest
from crawling import OWN, Ended, lycosa, lycosa_at_once

from lycosa.backends.layout import SHARD
from lycosa.backends.rocks import FAMILIES, RocksStore
from lycosa.sim.plan import WorldPlan
from lycosa.sim.server import serve
from lycosa.sim.world import World

NOBODY = 65_534
SEED = "http://127.0.0.1:9/"
MINE = ("--delay", "0s", "-s", OWN)
VERBS = {
    "crawl": ("crawl", SEED, *MINE),
    "status": ("status",),
    "pages": ("pages",),
    "explain": ("explain", SEED),
    "get": ("get", SEED),
    "verify": ("verify",),
    "rank": ("rank",),
}


run = lycosa_at_once


def complains(ended: Ended, *words: str) -> None:
    """One sentence about one of these, on stderr, and the exit code of bad usage."""
    assert "Traceback" not in ended.err, ended.err
    assert (ended.code, ended.out) == (2, ""), ended
    assert ended.err.startswith("lycosa: ")
    assert ended.err.count("\n") == 1, ended.err
    assert any(word in ended.err for word in words), ended.err


# What reading a RocksDB may write: its own log, and nothing of ours.
NOISE = ("LOG", "LOG.old", "LOCK", "IDENTITY")


def content(directory: Path) -> dict[str, bytes]:
    return {
        str(path.relative_to(directory)): path.read_bytes()
        for path in sorted(directory.rglob("*"))
        if path.is_file() and not path.name.startswith(NOISE)
    }


class Crawled(NamedTuple):
    directory: Path
    seed: str


@pytest.fixture(scope="module")
def crawled(tmp_path_factory: pytest.TempPathFactory) -> Crawled:
    """A small crawl that is finished."""
    directory = tmp_path_factory.mktemp("bad") / "crawl"

    async def main() -> str:
        plan = WorldPlan(seed=3, hosts=2, pages=10, page_bytes=1_000, crawl_delay_share=0, broken_robots_share=0)
        async with serve(World(plan)) as served, asyncio.timeout(30):
            ended = await lycosa("crawl", *served.seeds(2), *MINE, "--dir", str(directory), "--json")
            assert ended.summary["pages"]["fetched"] > 3
            return served.seeds(1)[0]

    return Crawled(directory, asyncio.run(main()))


@pytest.fixture
def copy(crawled: Crawled, tmp_path: Path) -> Crawled:
    shutil.copytree(crawled.directory, tmp_path / "copy")
    return Crawled(tmp_path / "copy", crawled.seed)


# -- seeds and scopes --------------------------------------------------------------------------------------------------


@pytest.mark.parametrize(
    ("arguments", "word"),
    [
        (["http://"], "URL"),
        (["http://exa mple.org/"], "URL"),
        (["https://[::1"], "URL"),
        (["http://a:99999/"], "URL"),
        (["http://xn--a.test/"], "URL"),
        (["javascript:alert(1)"], "http"),
        (["file:///etc/passwd"], "http"),
        (["data:text/html,hello"], "http"),
        ([""], "seed"),
        (["   "], "seed"),
        ([SEED, "ftp://example.org/"], "http"),
        ([SEED, "--scope", "planet"], "planet"),
        ([SEED, "--include", "re:("], "re:("),
        ([SEED, "--exclude", "re:[z-a]"], "re:[z-a]"),
        ([SEED, "--max-pages", "0"], "max_pages"),
        ([SEED, "--max-pages", "-1"], "max_pages"),
        ([SEED, "--max-depth", "-1"], "max_depth"),
        ([SEED, "--max-pages", "many"], "many"),
        ([SEED, "--delay", "soon"], "soon"),
        ([SEED, "--delay", "-2s"], "-2s"),
        ([SEED, "-s", "fetch.timeout=NaN"], "fetch.timeout"),
        ([SEED, "-s", "fetch.slots=0"], "fetch.slots"),
        ([SEED, "-s", "nonsense"], "nonsense"),
        ([SEED, "-s", "polite.own_hosts=[1]"], "polite.own_hosts"),
        ([SEED, "-s", 'polite.own_hosts=["a b"]'], "a b"),
        ([SEED, "--contact", "a\nb"], "one line"),
    ],
)
def test_bad_seeds_and_scopes_are_refused_before_a_crawl_begins(
    arguments: list[str], word: str, tmp_path: Path
) -> None:
    complains(run("crawl", *MINE, *arguments, "--dir", str(tmp_path / "crawl")), word)
    assert not (tmp_path / "crawl" / "lycosa.toml").exists()


@pytest.mark.parametrize("seeds", [b"\xff\xfe\x00h", b"http://ok.test/\nnot a url\n", b"# only words\n\n"])
def test_a_bad_file_of_seeds_is_refused(seeds: bytes, tmp_path: Path) -> None:
    (tmp_path / "seeds").write_bytes(seeds)
    complains(
        run("crawl", "--seeds-file", str(tmp_path / "seeds"), *MINE, "--dir", str(tmp_path / "crawl")),
        "seeds",
        "URL",
        "seed",
    )
    assert not (tmp_path / "crawl" / "lycosa.toml").exists()


def test_a_folder_is_no_file_of_seeds(tmp_path: Path) -> None:
    complains(run("crawl", "--seeds-file", str(tmp_path), *MINE, "--dir", str(tmp_path / "crawl")), str(tmp_path))


# -- directories that cannot be used -----------------------------------------------------------------------------------


@pytest.mark.parametrize("verb", VERBS)
def test_a_file_where_a_directory_is_expected(verb: str, tmp_path: Path) -> None:
    (tmp_path / "file").write_text("my diary")
    for place in ("file", "file/below"):
        complains(run(*VERBS[verb], "--dir", str(tmp_path / place)), str(tmp_path / place), str(tmp_path / "file"))
    assert (tmp_path / "file").read_text() == "my diary"


@pytest.mark.parametrize("name", [SHARD, "warc", "lycosa.toml"])
def test_something_else_where_a_part_of_a_crawl_is_expected(name: str, tmp_path: Path) -> None:
    directory = tmp_path / "crawl"
    directory.mkdir()
    if name == "lycosa.toml":
        (directory / name).mkdir()
    else:
        (directory / name).write_text("my diary")
    before = content(directory)
    complains(run(*VERBS["crawl"], "--dir", str(directory)), str(directory / name))
    assert before.items() <= content(directory).items()


@pytest.mark.parametrize("verb", [verb for verb in VERBS if verb != "crawl"])
def test_looking_at_a_directory_without_a_crawl_makes_none(verb: str, tmp_path: Path) -> None:
    for place in (tmp_path, tmp_path / "nowhere"):
        complains(run(*VERBS[verb], "--dir", str(place)), "holds no crawl")
    assert list(tmp_path.iterdir()) == []


def as_nobody(*arguments: str) -> Ended:
    """The command as a user who owns nothing."""
    if os.getuid() != 0:
        pytest.skip("only root can become somebody else")
    return run(*arguments, user=NOBODY)


@contextmanager
def open_to_all(folder: Path) -> Iterator[None]:
    """pytest's folders are closed to others."""
    closed = [each for each in (folder, *folder.parents) if not each.stat().st_mode & 0o005]
    modes = [each.stat().st_mode for each in closed]
    for each in closed:
        each.chmod(0o755)
    try:
        yield
    finally:
        for each, mode in zip(closed, modes, strict=True):
            each.chmod(mode)


@pytest.fixture
def public(tmp_path: Path) -> Iterator[Path]:
    with open_to_all(tmp_path):
        yield tmp_path


def test_a_directory_that_may_not_be_written(public: Path) -> None:
    (public / "closed").mkdir(mode=0o755)
    complains(as_nobody(*VERBS["crawl"], "--dir", str(public / "closed" / "crawl")), "closed")
    complains(as_nobody(*VERBS["crawl"], "--dir", str(public / "closed")), "closed")
    assert list((public / "closed").iterdir()) == []


def test_a_crawl_of_somebody_else_is_left_alone(public: Path, crawled: Crawled) -> None:
    shutil.copytree(crawled.directory, public / "theirs")
    before = content(public / "theirs")
    complains(as_nobody(*VERBS["crawl"], "--dir", str(public / "theirs")), "theirs")
    assert content(public / "theirs") == before


@pytest.mark.parametrize("verb", VERBS)
def test_a_crawl_that_may_not_be_read(verb: str, public: Path, crawled: Crawled) -> None:
    shutil.copytree(crawled.directory, public / "theirs")
    before = content(public / "theirs")
    (public / "theirs").chmod(0o700)
    complains(as_nobody(*VERBS[verb], "--dir", str(public / "theirs")), "theirs")
    (public / "theirs").chmod(0o755)
    assert content(public / "theirs") == before


# -- damaged files -----------------------------------------------------------------------------------------------------


def one(directory: Path, pattern: str) -> Path:
    return max(directory.glob(pattern), key=lambda path: path.stat().st_size)


def spoil_current(directory: Path) -> None:
    (directory / SHARD / "CURRENT").write_bytes(b"my diary\n")


def lose_current(directory: Path) -> None:
    (directory / SHARD / "CURRENT").unlink()


def spoil_manifest(directory: Path) -> None:
    path = one(directory, f"{SHARD}/MANIFEST-*")
    path.write_bytes(b"\xff" * path.stat().st_size)


def cut_table(directory: Path) -> None:
    path = one(directory, f"{SHARD}/*.sst")
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def spoil_settings(directory: Path) -> None:
    (directory / "lycosa.toml").write_bytes(b"\xff[polite\ndelay = = 3")


def spoil_settings_values(directory: Path) -> None:
    (directory / "lycosa.toml").write_text('[polite]\ndelay = "whenever"\n')


def foreign_settings(directory: Path) -> None:
    (directory / "lycosa.toml").write_text('[tool]\nname = "other"\n')


def rewrite(directory: Path, family: str, change: Callable[[bytes], bytes]) -> None:
    store = RocksStore(directory / SHARD)
    rows = list(store.scan(family))
    assert rows, f"nothing in {family}"
    store.write([(family, key, change(value)) for key, value in rows])
    store.sync()
    store.close()


def from_the_future(family: str) -> Callable[[Path], None]:
    def spoil(directory: Path) -> None:
        def newer(value: bytes) -> bytes:
            fields = msgspec.msgpack.decode(value)
            return msgspec.msgpack.encode([99, *fields[1:], "a field nobody knows yet"])

        rewrite(directory, family, newer)

    return spoil


def garbage_in(family: str) -> Callable[[Path], None]:
    return lambda directory: rewrite(directory, family, lambda value: b"\xc1my diary")


def flushed(directory: Path) -> None:
    """Bring all rows from the log into tables, as a crawl does after a while."""
    store = RocksStore(directory / SHARD)
    for family in FAMILIES:
        store._db.get_column_family(family).flush()
    store.close()


DAMAGES: dict[str, Callable[[Path], None]] = {
    "CURRENT is something else": spoil_current,
    "CURRENT is lost": lose_current,
    "MANIFEST is garbage": spoil_manifest,
    "a table is cut": cut_table,
    "settings are garbage": spoil_settings,
    "settings have bad values": spoil_settings_values,
    "settings of another program": foreign_settings,
    "URL rows from the future": from_the_future("urls"),
    "host rows from the future": from_the_future("hosts"),
    "URL rows are garbage": garbage_in("urls"),
}
NAMED = ("copy", "newer version", "cannot be read", "polite.delay", "no setting 'tool'")
SEES = {  # who has to read what is damaged
    "URL rows from the future": ("pages", "explain", "verify"),
    "URL rows are garbage": ("pages", "explain", "verify"),
    "host rows from the future": ("explain",),
}


def spoiled(copy: Crawled, damage: str) -> dict[str, bytes]:
    flushed(copy.directory)
    DAMAGES[damage](copy.directory)
    return content(copy.directory)


@pytest.mark.parametrize("damage", DAMAGES)
def test_looking_at_a_damaged_crawl_names_the_damage_and_changes_nothing(damage: str, copy: Crawled) -> None:
    before = spoiled(copy, damage)
    for verb in SEES.get(damage, ("status", "pages", "explain", "get", "verify")):
        arguments = [copy.seed if each == SEED else each for each in VERBS[verb]]
        complains(run(*arguments, "--dir", str(copy.directory)), *NAMED)
        assert content(copy.directory) == before


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_crawl_is_not_resumed_and_its_bodies_are_left_alone(damage: str, copy: Crawled) -> None:
    before = spoiled(copy, damage)
    complains(run("crawl", copy.seed, "-s", OWN, "--dir", str(copy.directory)), *NAMED)
    outside = {name: body for name, body in content(copy.directory).items() if not name.startswith(SHARD)}
    assert outside == {name: body for name, body in before.items() if not name.startswith(SHARD)}


def test_a_second_process_is_refused_and_the_first_one_loses_nothing(copy: Crawled) -> None:
    first = RocksStore(copy.directory / SHARD)
    try:
        before = content(copy.directory)
        complains(run("crawl", copy.seed, "-s", OWN, "--dir", str(copy.directory)), "in use by another crawl")
        assert content(copy.directory) == before
        assert run("status", "--dir", str(copy.directory)).code == 0
    finally:
        first.close()

"""The real command: what it prints, what it refuses, and that it never shows a traceback."""

import json
import os
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest

PAGE = (
    b"<html lang=en><title>Wolf spiders</title><meta name=robots content=nofollow><h1>Wolf spiders</h1>"
    b"<p>They hunt. <a href='/a?utm_source=x'>More</a></p>"
)
ROBOTS = b"User-agent: Lycosa\nDisallow: /private\nCrawl-delay: 3\nSitemap: https://example.org/s.xml\n"
SITEMAP = b"<urlset><url><loc>https://example.org/a</loc><lastmod>2020-01-01</lastmod></url></urlset>"
ENVIRONMENT = {name: value for name, value in os.environ.items() if not name.startswith("LYCOSA_")}


def run(
    *arguments: str | Path, given: bytes | None = None, variables: dict[str, str] | None = None
) -> subprocess.CompletedProcess[bytes]:
    return subprocess.run(
        [sys.executable, "-m", "lycosa", *map(str, arguments)],
        input=given,
        stdin=subprocess.DEVNULL if given is None else None,
        capture_output=True,
        env=ENVIRONMENT | (variables or {}),
        timeout=60,
        check=False,
    )


def told(*arguments: str | Path, given: bytes | None = None, code: int = 0, **more: dict[str, str]) -> dict:
    """The one JSON object that a command prints."""
    done = run(*arguments, "--json", given=given, **more)
    assert (done.returncode, done.stderr) == (code, b"")
    (line,) = done.stdout.splitlines()
    return json.loads(line)


def shown(*arguments: str | Path, given: bytes | None = None, code: int = 0) -> str:
    done = run(*arguments, given=given)
    assert (done.returncode, done.stderr) == (code, b"")
    return done.stdout.decode()


def test_a_url_is_shown_with_its_normal_form_its_host_and_its_key() -> None:
    url = told("try", "url", "HTTP://www.Example.co.uk:80/a/../b?utm_source=x&z=1&a=2#f")
    assert url["normal"] == "http://www.example.co.uk/b?a=2&z=1"
    assert (url["host"], url["domain"], url["media"], url["trap"]) == (
        "www.example.co.uk",
        "example.co.uk",
        False,
        None,
    )
    assert "example.co.uk" in shown("try", "url", "http://www.example.co.uk/")
    assert told("try", "url", "../x", "--base", "http://example.org/a/b")["normal"] == "http://example.org/x"


def test_a_robots_txt_is_asked_and_the_exit_code_says_what_it_answered(tmp_path: Path) -> None:
    file = tmp_path / "robots.txt"
    file.write_bytes(ROBOTS)
    robots = told("try", "robots", file, "/open", "https://example.org/private/x", code=1)
    assert robots["allowed"] == {"/open": True, "https://example.org/private/x": False}
    assert (robots["crawl_delay_s"], robots["sitemaps"]) == (3, ["https://example.org/s.xml"])
    assert told("try", "robots", file, "/private", "--agent", "Other")["allowed"] == {"/private": True}
    assert "forbidden" in shown("try", "robots", "-", "/private", given=ROBOTS, code=1)


def test_a_page_is_shown_with_its_metadata_links_and_text(tmp_path: Path) -> None:
    file = tmp_path / "page.html"
    file.write_bytes(PAGE)
    page = told("try", "extract", file, "--url", "https://example.org/")
    assert (page["title"], page["nofollow"], page["noindex"]) == ("Wolf spiders", True, False)
    assert page["links"][0]["url"] == "https://example.org/a"
    assert "They hunt." in page["main_text"]
    assert "Wolf spiders" in shown("try", "extract", "-", given=PAGE)


def test_a_sitemap_is_listed_and_what_is_none_exits_with_one() -> None:
    sitemap = told("try", "sitemap", "-", given=SITEMAP)
    assert sitemap["kind"] == "urlset"
    assert sitemap["entries"][0] == {
        "url": "https://example.org/a", "lastmod": "2020-01-01T00:00:00Z", "changefreq": None, "priority": None,
    }  # fmt: skip
    assert "https://example.org/a" in shown("try", "sitemap", "-", given=SITEMAP)
    assert told("try", "sitemap", "-", given=PAGE, code=1)["entries"] == []


def test_settings_are_shown_as_a_file_that_can_be_used(tmp_path: Path) -> None:
    text = shown("config", "show", "-s", "polite.delay=7s")
    assert tomllib.loads(text)["polite"]["delay"] == "7s"
    file = tmp_path / "lycosa.toml"
    file.write_text(text)
    assert told("config", "show", "--config", file)["polite"]["delay"] == 7
    assert json.loads(shown("config", "schema"))["properties"]["polite"]


def test_flags_win_over_the_environment_and_the_environment_over_the_file(tmp_path: Path) -> None:
    file = tmp_path / "lycosa.toml"
    file.write_text("[fetch]\nslots = 1\n[crawl]\nmax_pages = 1\nmax_depth = 1\n")
    variables = {"LYCOSA_CRAWL__MAX_PAGES": "2", "LYCOSA_CRAWL__MAX_DEPTH": "2"}
    made = told("config", "show", "--config", file, "-s", "crawl.max_depth=3", variables=variables)
    assert (made["fetch"]["slots"], made["crawl"]["max_pages"], made["crawl"]["max_depth"]) == (1, 2, 3)


@pytest.mark.parametrize(
    ("arguments", "given"),
    [
        (["try", "extract", "/no/such/file"], None), (["try", "extract", "/"], None), (["try", "robots", ""], None),
        (["try", "sitemap", "/no/such\nfile"], None), (["try", "extract", "https://example.org/"], None),
        (["try", "url", "not a url"], None), (["try", "url", ""], None), (["try", "url", "mailto:a@b.c"], None),
        (["try", "url", "/x"], None), (["try", "url", "/x", "--base", "nonsense"], None),
        (["try", "url", "http://\x1b[31m/"], None), (["try", "url", "file:///etc/passwd"], None),
        (["try", "extract", "-", "--url", "nonsense"], PAGE), (["try", "robots", "-", "http://["], ROBOTS),
        (["try", "sitemap", "-", "--url", "mailto:a@b.c"], SITEMAP),
        (["try", "extract", "-", "--url", "data:,x"], PAGE),
        (["try", "url", "http://x/", "-s", "polite.dely=3"], None), (["try", "url", "http://x/", "-s", "x"], None),
        (["config", "show", "-s", "polite.delay=0.1s"], None), (["config", "show", "-s", "fetch.slots=many"], None),
        (["config", "show", "--config", "/no/such.toml"], None), (["config", "show", "--config", "/"], None),
        (["config", "show", "-s", "agent.name=\ud800".encode("utf-8", "surrogatepass")], None),
        (["try", "nonsense"], None), (["nonsense"], None), (["try", "url"], None), (["--nonsense"], None),
        (["try", "url", "http://x/", "--nonsense"], None), (["try", "url", "http://x/", "extra"], None),
        (["config", "show", "--config"], None),
    ],
    ids=lambda value: repr(value)[:60],
)  # fmt: skip
def test_bad_input_exits_with_two_and_one_clear_sentence(arguments: list[str], given: bytes | None) -> None:
    done = run(*[os.fsdecode(one) if isinstance(one, bytes) else one for one in arguments], given=given)
    assert (done.returncode, done.stdout) == (2, b"")
    (line,) = done.stderr.decode().splitlines()
    assert line.startswith("lycosa: ")
    assert "Traceback" not in line
    assert "\x1b" not in line


@pytest.mark.parametrize("verb", ["robots", "extract", "sitemap"])
def test_a_huge_file_is_refused_and_never_read_whole(verb: str, tmp_path: Path) -> None:
    file = tmp_path / "huge"
    with file.open("wb") as sparse:
        sparse.truncate(1 << 34)
    done = run("try", verb, file)
    assert (done.returncode, done.stdout, len(done.stderr.splitlines())) == (2, b"", 1)


@pytest.mark.parametrize("given", [b"", bytes(range(256)) * 40], ids=["empty", "binary"])
def test_empty_and_binary_input_are_read_as_what_they_are(given: bytes) -> None:
    assert told("try", "extract", "-", given=given)["links"] == []
    assert told("try", "robots", "-", "/", given=given)["allowed"] == {"/": True}
    assert told("try", "sitemap", "-", given=given, code=1)["kind"] == "none"


def test_control_characters_of_a_hostile_page_never_reach_the_terminal() -> None:
    evil = "\x1b]0;owned\x07\x1b[2J\u202e\x9b"
    page = f"<meta charset=utf-8><title>{evil}</title><h1>{evil}</h1><a href='/{evil}'>{evil}</a><p>{evil}"
    for verb in ("extract", "sitemap", "robots"):
        done = run("try", verb, "-", given=f"{page}\nSitemap: http://x/{evil}\n".encode())
        assert not {"\x1b", "\x07", "\u202e", "\x9b"} & set((done.stdout + done.stderr).decode())


def test_json_of_a_hostile_page_holds_no_raw_control_characters() -> None:
    done = run("try", "extract", "-", "--json", given="<meta charset=utf-8><title>\x1b[2J\u202e\ud7ff".encode())
    assert b"\x1b" not in done.stdout
    assert json.loads(done.stdout)["title"].startswith("\x1b[2J")


def test_output_into_a_closed_pipe_ends_quietly() -> None:
    links = b"<a href=/x>a link with words</a>" * 9_000
    command = [sys.executable, "-m", "lycosa", "try", "extract", "-", "--json"]
    with subprocess.Popen(
        command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=ENVIRONMENT
    ) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        assert process.stderr is not None
        process.stdout.close()
        process.stdin.write(links)
        process.stdin.close()
        assert process.stderr.read() == b""
        assert process.wait(30) == 0


def test_a_full_disk_is_an_error_of_one_sentence() -> None:
    with open("/dev/full", "wb") as full:
        done = subprocess.run(
            [sys.executable, "-m", "lycosa", "config", "show"],
            stdout=full, stderr=subprocess.PIPE, env=ENVIRONMENT, check=False,
        )  # fmt: skip
    assert done.returncode == 2
    assert len(done.stderr.splitlines()) == 1
    assert b"Traceback" not in done.stderr


@pytest.mark.parametrize("arguments", [[], ["try"], ["config"]])
def test_without_a_verb_the_help_is_shown_and_the_exit_code_is_two(arguments: list[str]) -> None:
    done = run(*arguments)
    assert done.returncode == 2
    assert b"Usage: lycosa" in done.stderr


@pytest.mark.parametrize("arguments", [["--help"], ["-h"], ["try", "--help"], ["try", "url", "-h"], ["--version"]])
def test_help_and_version_are_given_on_stdout(arguments: list[str]) -> None:
    assert "lycosa" in shown(*arguments)

"""The documentation speaks of the program as it is."""

from __future__ import annotations

import re
from pathlib import Path

import click
import pytest

from lycosa.backends.parquet import SCHEMAS
from lycosa.cli.main import cli
from lycosa.config import describe
from lycosa.web import scope, traps

ROOT = Path(__file__).parents[2]
DOCS = ROOT / "docs"
PAGES = sorted([*ROOT.glob("*.md"), *DOCS.rglob("*.md")])


def test_every_setting_is_documented_and_no_other() -> None:
    rows = re.findall(r"^\| `(\w+\.\w+)` \| `(.*?)` \| (.*?) \|$", (DOCS / "settings.md").read_text(), re.M)
    assert [(name, meaning) for name, _, meaning in rows] == [(each.name, each.meaning) for each in describe()]
    defaults = {each.name: each.default for each in describe()}
    for name, default, _ in rows:
        assert default == defaults[name] or (default.endswith(", …]") and defaults[name].startswith(default[:-5]))


def test_there_are_fewer_than_sixty_settings() -> None:
    assert len(describe()) < 60


def verbs(command: click.Command, path: str = "lycosa") -> list[str]:
    if isinstance(command, click.Group):
        found = [(name, inner_of(command, name)) for name in command.list_commands(click.Context(command))]
        return [verb for name, inner in found for verb in verbs(inner, f"{path} {name}")]
    return [path]


def inner_of(group: click.Command, name: str) -> click.Command:
    assert isinstance(group, click.Group)
    found = group.get_command(click.Context(group), name)
    assert found is not None
    return found


def test_every_command_is_documented_and_no_other() -> None:
    listed = re.findall(r"^\| `(lycosa [a-z ]+?)(?: [A-Z\[-].*?)?` \|", (DOCS / "commands.md").read_text(), re.M)
    assert sorted(listed) == sorted(verbs(cli))


@pytest.mark.parametrize("command", verbs(cli))
def test_every_command_says_what_it_does(command: str) -> None:
    inner: click.Command = cli
    for name in command.split()[1:]:
        inner = inner_of(inner, name)
    assert (inner.help or "").strip().split("\n")[0].endswith((".", "…", "sitemaps."))
    assert all(option.help for option in inner.params if isinstance(option, click.Option))


def test_every_refusal_is_documented() -> None:
    text = (DOCS / "scope.md").read_text()
    for module, names in ((scope, r'"(scope\.\w+)"'), (traps, r'"(trap\.\w+)"')):
        for name in re.findall(names, Path(module.__file__).read_text()):
            assert f"`{name}`" in text, name
    for mode in ("host", "domain"):
        assert f"`scope.{mode}`" in text


@pytest.mark.parametrize("page", PAGES, ids=lambda page: str(page.relative_to(ROOT)))
def test_links_between_pages_lead_somewhere(page: Path) -> None:
    for target in re.findall(r"\]\(([^)#]+)[^)]*\)", page.read_text()):
        if not target.startswith("http"):
            assert (page.parent / target).exists(), target


def test_the_two_commands_of_the_readme_exist() -> None:
    targets = re.findall(r"^(\w+):", (ROOT / "Makefile").read_text(), re.M)
    named = re.findall(r"^make (\w+)", (ROOT / "README.md").read_text(), re.M)
    assert named == ["run", "test"]
    assert set(named) <= set(targets)


def test_decisions_are_numbered_without_gaps() -> None:
    numbers = [int(file.name[:4]) for file in sorted((DOCS / "adr").glob("*.md"))]
    assert numbers == list(range(1, len(numbers) + 1))


def test_every_column_of_every_table_is_documented_in_its_order() -> None:
    sections = re.split(r"^## (\w+):.*$", (DOCS / "tables.md").read_text(), flags=re.M)[1:]
    told = {
        name: re.findall(r"^\| `(\w+)` \|", text, re.M)
        for name, text in zip(sections[::2], sections[1::2], strict=True)
    }
    assert told == {name: schema.names for name, schema in SCHEMAS.items()}

"""Processors: functions of a user that look at every fetched page and add fields, records and links.

A processor is a plain callable. It is given a `PageView` and returns None, a mapping of fields, or `Findings`. Only
those that the setting `crawl.processors` names run, in that order: an installed package does nothing by itself.

A processor that fails is counted and told of once for each kind of error; the page is never lost by it. What comes out
of it comes from servers in the end, so it is capped: over the cap is cut, and counted. It runs in the crawl's own
thread, so while it works nothing else does; the time it takes is counted.
"""

from __future__ import annotations

import inspect
import logging
import re
import sys
import time
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from importlib import import_module
from itertools import islice
from pathlib import Path
from typing import Any, Protocol, TypeVar

import msgspec

from lycosa.crawl.items import Items
from lycosa.crawl.view import PageView
from lycosa.errors import BadInput, BadSetting
from lycosa.web.elements import LONGEST_HREF, MOST_LINKS

GROUP = "lycosa.processors"
MOST_FIELD_BYTES = 64_000  # of one page, as JSON, all processors together; so are the others
MOST_RECORDS = 1_000
MOST_RECORD_BYTES = 64_000  # of one record
MOST_RECORDS_BYTES = 4_000_000
_LARGEST_ITEMS_FILE = 1_000_000
_MODULE_FUNCTION = re.compile(r"[^\W\d]\w*(?:\.[^\W\d]\w*)*:[^\W\d]\w*(?:\.[^\W\d]\w*)*")
_NOT_IN_NAMES = re.compile(r"[^A-Za-z0-9_.\-]+")


class Findings(msgspec.Struct):
    """What a processor has to say of a page. All values must be JSON."""

    fields: Mapping[str, Any] = msgspec.field(default_factory=dict)  # kept with the page
    records: Iterable[Mapping[str, Any]] = ()  # lines of DIR/records/NAME.jsonl
    links: Iterable[str] = ()  # to follow, relative to the page's base: normalised and judged like its own


Processor = Callable[[PageView], Findings | Mapping[str, Any] | None]


class Gathered(msgspec.Struct):
    """What all processors said of one page, checked and capped."""

    fields: dict[str, msgspec.Raw] = msgspec.field(default_factory=dict)  # encoded; the later processor wins
    records: dict[str, list[bytes]] = msgspec.field(default_factory=dict)  # by processor: lines to append as they are
    links: list[str] = msgspec.field(default_factory=list)
    failures: list[str] = msgspec.field(default_factory=list)  # processors that failed; also in `counts`
    counts: Counter[str] = msgspec.field(default_factory=Counter)  # for the stats of the crawl

    def fields_json(self) -> str:
        """The fields as a JSON object; empty if there are none."""
        return msgspec.json.encode(self.fields).decode() if self.fields else ""


class RecordFiles(Protocol):
    """Where records go. What `append` returned from survives the death of the process."""

    def append(self, name: str, lines: Iterable[bytes]) -> None: ...
    def sync(self) -> None: ...
    def close(self) -> None: ...


class Processors:
    """The processors of a crawl, in their order. False if there are none, and then nothing need be called."""

    def __init__(
        self, named: Sequence[tuple[str, Processor]] = (), timer: Callable[[], float] = time.perf_counter
    ) -> None:
        self._named = tuple(named)
        self._timer = timer
        self._told: set[tuple[str, type[BaseException]]] = set()

    def __bool__(self) -> bool:
        return bool(self._named)

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(name for name, _ in self._named)

    def run(self, visit: PageView) -> Gathered:
        """Show a page to every processor. Never raises for what they do, short of a keyboard interrupt."""
        gathered = Gathered()
        for name, processor in self._named:
            began_s = self._timer()
            try:
                _gather(gathered, name, processor(visit), visit)
            except KeyboardInterrupt:
                raise
            except BaseException as error:  # also SystemExit and a cancellation that nobody asked for
                gathered.failures.append(name)
                gathered.counts[f"processor_failed:{name}"] += 1
                self._tell(name, error, visit.url)
            gathered.counts[f"processor_us:{name}"] += round((self._timer() - began_s) * 1e6)
        return gathered

    def _tell(self, name: str, error: BaseException, url: str) -> None:
        kind = (name, type(error))
        if kind not in self._told:
            self._told.add(kind)
            text = "processor %s failed on %s (told once, counted each time): %s: %s"
            known = error if not isinstance(error, RecursionError) else None  # its trace is a thousand lines
            _log.warning(text, name, url, type(error).__name__, error, exc_info=known)


_log = logging.getLogger("lycosa")


def tally(stats: Mapping[str, int]) -> dict[str, dict[str, float]]:
    """What the stats of a crawl say of each processor."""
    found: dict[str, dict[str, float]] = {}
    for key, count in sorted(stats.items()):
        kind, colon, name = key.partition(":")
        if colon and kind in _COUNTED:
            told = found.setdefault(name, {"records": 0, "failed": 0, "cut": 0, "time_s": 0.0})
            told[_COUNTED[kind]] = count / 1e6 if kind == "processor_us" else count
    return found


_COUNTED = {
    "processor_records": "records",
    "processor_failed": "failed",
    "processor_cut": "cut",
    "processor_us": "time_s",
}


def _gather(gathered: Gathered, name: str, said: Any, visit: PageView) -> None:
    """Take in what a processor returned: all of it or, if any of it cannot be, nothing."""
    if said is None:
        return
    if isinstance(said, Mapping):
        said = Findings(said)
    if not isinstance(said, Findings):
        raise TypeError(f"it returned a {type(said).__name__}: return None, a mapping of fields, or lycosa.Findings")
    cut = 0
    fields, over = _fit_fields(gathered, said.fields)
    cut += over
    lines, over = _fit_records(gathered, said.records, visit)
    cut += over
    links, over = _first(said.links, MOST_LINKS - len(gathered.links))
    cut += over
    if not all(isinstance(link, str) for link in links):
        raise TypeError("a link is not a text: give it as it would stand in the page")
    short = [link for link in links if len(link) <= LONGEST_HREF]
    cut += len(links) - len(short)
    gathered.fields.update(fields)
    gathered.links += short
    if lines:
        gathered.records[name] = lines
        gathered.counts[f"processor_records:{name}"] += len(lines)
    if cut:
        gathered.counts[f"processor_cut:{name}"] += cut


def _fit_fields(gathered: Gathered, fields: Mapping[str, Any]) -> tuple[dict[str, msgspec.Raw], int]:
    left = MOST_FIELD_BYTES - 2 - sum(_size_of(key, raw) for key, raw in gathered.fields.items())
    found: dict[str, msgspec.Raw] = {}
    cut = 0
    for key, value in fields.items():
        if not isinstance(key, str):
            raise TypeError(f"a field is called {key!r}: its name must be a text")
        raw = msgspec.Raw(_encode(value))
        left -= _size_of(key, raw)
        if left >= 0:
            found[key] = raw
        else:  # a smaller one may still fit
            left += _size_of(key, raw)
            cut += 1
    return found, cut


def _size_of(key: str, raw: msgspec.Raw) -> int:
    return len(_encode(key)) + 1 + len(bytes(raw)) + 1


def _fit_records(gathered: Gathered, records: Iterable[Mapping[str, Any]], visit: PageView) -> tuple[list[bytes], int]:
    before = [line for lines in gathered.records.values() for line in lines]
    left = MOST_RECORDS_BYTES - sum(map(len, before))
    given, cut = _first(records, MOST_RECORDS - len(before))
    lines: list[bytes] = []
    for record in given:
        if not isinstance(record, Mapping):
            raise TypeError(f"a record is a {type(record).__name__}: give a mapping")
        line = _encode(_Line(visit.url, visit.fetched_at, visit.content_hash, record)) + b"\n"
        if len(line) > min(MOST_RECORD_BYTES, left) or b"\n" in line[:-1]:
            cut += 1
        else:
            lines.append(line)
            left -= len(line)
    return lines, cut


class _Line(msgspec.Struct):
    """A line of a records file. The first three say which visit it is from: a visit that is repeated repeats them."""

    url: str
    fetched_at: float
    content_hash: str
    record: Mapping[str, Any]


_encode = msgspec.json.Encoder().encode
_Thing = TypeVar("_Thing")


def _first(things: Iterable[_Thing], most: int) -> tuple[list[_Thing], int]:
    """The first so many, and how many were left (1 for a source that may never end)."""
    if isinstance(things, str):
        raise TypeError("it returned a text where a list is wanted: put it in brackets")
    source = iter(things)
    found = list(islice(source, max(0, most)))
    if isinstance(things, Sequence):
        return found, len(things) - len(found)
    return found, sum(1 for _ in islice(source, 1))


# -- finding them -----------------------------------------------------------------------------------------------------


def load(names: Sequence[str]) -> Processors:
    """The processors of these names: entry points, `module:function`, or `items:FILE.toml`. BadSetting otherwise."""
    named: dict[str, Processor] = {}
    for text in names:
        name, processor = _find(text)
        if name in named:
            raise BadSetting(f"crawl.processors names {name!r} twice: their records would go to the same file")
        named[name] = processor
    return Processors(list(named.items()))


def _find(text: str) -> tuple[str, Processor]:
    if text.startswith("items:") and text.endswith(".toml"):
        file = Path(text.removeprefix("items:"))
        return _short(file.stem), read_items(file)
    if _MODULE_FUNCTION.fullmatch(text):
        return _short(text.replace(":", ".")), _checked(text, _import(text))
    from importlib.metadata import entry_points  # here: few crawls name a processor, and all would pay 8 ms for it

    installed = {point.name: point for point in entry_points(group=GROUP)}
    if text not in installed:
        known = ", ".join(sorted(installed)) or "none"
        raise BadSetting(
            f"there is no processor {text!r}: installed are {known}, or name module:function or items:FILE.toml"
        )
    try:
        found = installed[text].load()
    except Exception as error:  # the package's own code runs here
        raise BadSetting(f"processor {text!r} cannot be loaded: {type(error).__name__}: {error}") from error
    return _short(text), _checked(text, found)


def _import(text: str) -> Any:
    path, _, function = text.partition(":")
    here = str(Path.cwd())
    if here not in sys.path and "" not in sys.path:
        sys.path.append(here)  # last, so that a file here never takes the place of something installed
    try:
        found: Any = import_module(path)
        for part in function.split("."):
            found = getattr(found, part)
    except Exception as error:
        raise BadSetting(f"processor {text!r} cannot be loaded: {type(error).__name__}: {error}") from error
    return found


def _checked(text: str, found: Any) -> Processor:
    """What would fail on every page is better said at once."""
    if isinstance(found, type) or not callable(found):
        raise BadSetting(f"processor {text!r} is a {type(found).__name__}: name a function that takes a page")
    if inspect.iscoroutinefunction(found) or inspect.isgeneratorfunction(found) or inspect.isasyncgenfunction(found):
        raise BadSetting(f"processor {text!r} waits or yields: name a plain function that returns lycosa.Findings")
    processor: Processor = found
    return processor


def _short(text: str) -> str:
    """As a file is called."""
    name = _NOT_IN_NAMES.sub("-", text).strip(".-")[:100]
    if not name:
        raise BadSetting(f"a processor cannot be called {text!r}: its records are a file of that name")
    return name


def read_items(file: Path) -> Processor:
    """The processor that a declarative file describes: `base` and `fields`, see docs/processors.md."""
    try:
        if file.stat().st_size > _LARGEST_ITEMS_FILE:
            raise BadSetting(f"{file} is too large to be a file of selectors: name a TOML file")
        items = Items.from_tree(tomllib.loads(file.read_bytes().decode()))
    except OSError as error:
        raise BadSetting(f"{file} cannot be read: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadSetting(f"{file} is not a TOML file: {error}") from None
    except BadSetting:
        raise
    except BadInput as error:
        raise BadSetting(f"{file}: {error}") from None

    def pick(visit: PageView) -> Findings:
        return Findings(records=items.of(visit))

    return pick

"""The settings: what they are, what they default to, and where their values come from.

Defaults, then a TOML file, then environment variables (`LYCOSA_POLITE__DELAY=5s`), then `-s polite.delay=5s`: the later
wins. An unknown name is an error that names the nearest known one. `describe` lists every setting with its meaning, and
the documentation is checked against it.
"""

from __future__ import annotations

import difflib
import json
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping
from functools import cache, partial
from pathlib import Path
from typing import Annotated, Any, Literal, NamedTuple, get_args

import msgspec
from msgspec import Meta

from lycosa.errors import BadInput, BadSetting
from lycosa.kit.units import read_duration, read_size, show_duration, show_size

ENVIRONMENT_PREFIX = "LYCOSA_"
FLOOR_DELAY_S = 1.0  # hosts of others are never asked faster than this
_LARGEST_FILE_BYTES = 1_000_000

# Query parameters that never tell two pages apart; `*` stands for anything.
TRACKING = (
    "utm_*", "mtm_*", "pk_campaign", "pk_kwd", "pk_source", "pk_medium", "gclid", "gclsrc", "gbraid", "wbraid", "dclid",
    "fbclid", "msclkid", "yclid", "twclid", "ttclid", "igshid", "mc_cid", "mc_eid", "_hsenc", "_hsmi", "_openstat",
    "_ga", "_gl", "mkt_tok", "oly_anon_id", "oly_enc_id", "vero_id", "wickedid",
)  # fmt: skip
SESSION = ("jsessionid", "phpsessid", "aspsessionid*", "sessionid", "session_id", "sessid", "cfid", "cftoken")


class Seconds(float):
    """A duration; settings files write it as `2s`, `1.5h` or a number of seconds."""


class Bytes(int):
    """A size; settings files write it as `10MB`, `500KiB` or a number of bytes."""


Positive = Annotated[int, Meta(ge=1)]


class Agent(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who crawls."""

    name: Annotated[
        str, Meta(pattern=r"^[A-Za-z][A-Za-z_\-]*$", description="the crawler's name: its product token in robots.txt")
    ] = "Lycosa"
    contact: Annotated[
        str, Meta(description="a URL or mail address where site owners reach you; needed to crawl hosts of others")
    ] = ""


class Polite(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How gently."""

    delay: Annotated[Seconds, Meta(description="least time from one answer of a host to the next request to it")] = (
        msgspec.field(default_factory=partial(Seconds, 2))
    )
    address_delay: Annotated[Seconds, Meta(description="the same for an address, when many hosts share it")] = (
        msgspec.field(default_factory=partial(Seconds, 0.5))
    )
    own_hosts: Annotated[
        tuple[str, ...],
        Meta(description="your own hosts, as names, suffixes or CIDR ranges: they may be private and asked faster"),
    ] = ()
    hours: Annotated[
        tuple[str, ...],
        Meta(description="when hosts may be asked, in UTC, like `example.org 22:00-06:00`; `*` is every other host"),
    ] = ()


class Fetch(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """One request."""

    slots: Annotated[Positive, Meta(description="requests under way at once, in one process")] = 256
    max_body: Annotated[Bytes, Meta(description="longest body that is read, after decoding")] = msgspec.field(
        default_factory=partial(Bytes, 10_000_000)
    )
    connect_timeout: Annotated[Seconds, Meta(description="time to connect")] = msgspec.field(
        default_factory=partial(Seconds, 10)
    )
    first_byte_timeout: Annotated[Seconds, Meta(description="time to the first byte of the answer")] = msgspec.field(
        default_factory=partial(Seconds, 15)
    )
    timeout: Annotated[Seconds, Meta(description="time for the whole exchange")] = msgspec.field(
        default_factory=partial(Seconds, 30)
    )

    @property
    def hosts(self) -> int:
        """How many hosts are at hand, so that there is one to ask whenever a slot is free."""
        return 3 * self.slots


class Network(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How the machine reaches others."""

    nameservers: Annotated[
        tuple[str, ...],
        Meta(description="who is asked for addresses, as `host` or `host:port`; the system's by default"),
    ] = ()
    prefer: Annotated[Literal["ipv4", "ipv6"], Meta(description="which addresses of a host are tried first")] = "ipv4"
    source: Annotated[
        str, Meta(description="the address or interface requests come from; the system's choice if empty")
    ] = ""
    ca_file: Annotated[
        str, Meta(description="a file of certificate authorities (PEM) to trust instead of the usual ones")
    ] = ""
    max_rate: Annotated[
        Bytes | None, Meta(description="most bytes that are received in a second, by all processes together")
    ] = None


class Crawl(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How far."""

    scope: Annotated[
        Literal["host", "domain", "web"], Meta(description="follow links within seed hosts, domains, or all")
    ] = "host"
    include: Annotated[tuple[str, ...], Meta(description="crawl only what one of these rules matches")] = ()
    exclude: Annotated[tuple[str, ...], Meta(description="never crawl what one of these rules matches")] = ()
    max_pages: Annotated[Positive | None, Meta(description="stop after this many pages")] = None
    max_depth: Annotated[int | None, Meta(description="follow links at most this far from a seed")] = None
    media: Annotated[bool, Meta(description="fetch pictures, documents and other files too")] = False
    processors: Annotated[
        tuple[str, ...],
        Meta(description="who looks at every page: installed processors, `module:function` or `items:FILE.toml`"),
    ] = ()
    processes: Annotated[
        Positive | None, Meta(description="crawl in so many processes; by default as many as help")
    ] = None


class Budget(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What one owner may cost."""

    domain_pages: Annotated[Positive, Meta(description="pages of one registered domain")] = 100_000
    host_pages: Annotated[Positive | None, Meta(description="pages of one host")] = None
    day_pages: Annotated[
        Positive | None, Meta(description="pages in a day of UTC; the same command goes on the next day")
    ] = None


class Disk(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """How much room the crawl may take."""

    max_bytes: Annotated[Bytes | None, Meta(description="stop when the crawl's directory is this large")] = None
    reserve: Annotated[Bytes, Meta(description="pause while the disk has less room than this")] = msgspec.field(
        default_factory=partial(Bytes, 200_000_000)
    )


class Urls(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """When two URLs are one page."""

    tracking: Annotated[tuple[str, ...], Meta(description="query parameters that follow people around; dropped")] = (
        TRACKING
    )
    session: Annotated[tuple[str, ...], Meta(description="query parameters that name a session; dropped")] = SESSION


class Traps(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What is refused as a space without end."""

    max_length: Annotated[Positive, Meta(description="longest URL")] = 2_083
    max_segments: Annotated[Positive, Meta(description="most segments of a path")] = 24
    max_repeats: Annotated[Positive, Meta(description="how often the same segments may follow each other")] = 3
    max_parameters: Annotated[Positive, Meta(description="most query parameters")] = 16


class Search(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """What can be found."""

    index: Annotated[bool, Meta(description="make pages searchable while they are crawled, in a process beside it")] = (
        False
    )


class Serve(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Who may search."""

    host: Annotated[str, Meta(description="the address that `lycosa serve` listens on")] = "127.0.0.1"
    port: Annotated[int, Meta(ge=0, le=65_535, description="and the port; 0 for any free one")] = 8080
    processes: Annotated[Positive, Meta(description="answer in so many processes, each with a core of its own")] = 1
    names: Annotated[
        tuple[str, ...],
        Meta(description="names that a service on a loopback address may be asked under, by a proxy say"),
    ] = ()


class Settings(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """All settings, by section."""

    agent: Agent = Agent()
    polite: Polite = Polite()
    fetch: Fetch = Fetch()
    network: Network = Network()
    crawl: Crawl = Crawl()
    budget: Budget = Budget()
    disk: Disk = Disk()
    urls: Urls = Urls()
    traps: Traps = Traps()
    search: Search = Search()
    serve: Serve = Serve()


class Setting(NamedTuple):
    """One setting as documentation shows it."""

    name: str
    default: str
    meaning: str


# -- reading ----------------------------------------------------------------------------------------------------------


def load(
    file: Path | None = None, environment: Mapping[str, str] | None = None, given: Iterable[tuple[str, Any]] = ()
) -> Settings:
    """The effective settings. `given` are names and values from flags, `environment` is usually `os.environ`."""
    tree: dict[str, Any] = _read_file(file) if file else {}
    for name, value in (*_of_environment(environment or {}), *given):
        section, _, key = name.partition(".")
        if not isinstance(tree.setdefault(section, {}), dict):
            raise BadSetting(f"{section!r} is a section of settings, not a value: write [{section}] above its keys")
        tree[section][key] = value
    return from_tree(tree)


def from_tree(tree: Mapping[str, Any]) -> Settings:
    """Settings from plain values, checked one by one so that an error names the setting."""
    sections: dict[str, Any] = {}
    for section, values in tree.items():
        kind = _section(section)
        if not isinstance(values, Mapping):
            raise BadSetting(f"{section!r} is a section of settings, not a value: write [{section}] above its keys")
        known = {field.name: field for field in _fields(kind)}
        sections[section] = kind(**{key: _convert(section, key, value, known) for key, value in values.items()})
    settings = Settings(**sections)
    _check(settings)
    return settings


@cache
def _fields(kind: type[msgspec.Struct]) -> tuple[msgspec.structs.FieldInfo, ...]:
    return msgspec.structs.fields(kind)  # reads all annotations anew


def _section(name: str) -> type[msgspec.Struct]:
    sections = {field.name: field.type for field in _fields(Settings)}
    if name not in sections:
        raise BadSetting(f"there is no setting {name!r}: {_nearest(name, sections)}")
    kind = sections[name]
    assert isinstance(kind, type)
    return kind


def _convert(section: str, key: str, value: Any, known: Mapping[str, msgspec.structs.FieldInfo]) -> Any:
    name = f"{section}.{key}"
    if key not in known:
        raise BadSetting(f"there is no setting {name!r}: {_nearest(name, [setting.name for setting in describe()])}")
    try:
        return msgspec.convert(value, known[key].type, strict=True, dec_hook=_quantity)
    except msgspec.ValidationError as error:
        raise BadSetting(f"{name} cannot be {_shown(value)}: {str(error)[:1].lower()}{str(error)[1:]}") from None
    except BadInput as error:
        raise BadSetting(f"{name}: {error}") from None


def _quantity(kind: type, value: Any) -> Any:
    if isinstance(value, bool) or not isinstance(value, (int, float, str)):
        raise BadInput("a quantity is a number or a text like 2s or 10MB")
    if isinstance(value, str):
        value = read_duration(value) if kind is Seconds else read_size(value)
    if not 0 <= value < 1e15:  # neither infinity nor NaN
        raise BadInput(f"{value} is out of range: give a number from 0 up")
    return kind(value)


def _check(settings: Settings) -> None:
    if settings.crawl.max_depth is not None and settings.crawl.max_depth < 0:
        raise BadSetting("crawl.max_depth cannot be negative: 0 fetches the seeds alone")
    if settings.polite.delay < FLOOR_DELAY_S and not settings.polite.own_hosts:
        raise BadSetting(
            f"polite.delay cannot be {show_duration(settings.polite.delay)}: below {show_duration(FLOOR_DELAY_S)} is"
            " for your own hosts only, name them in polite.own_hosts"
        )


def _read_file(file: Path) -> dict[str, Any]:
    try:
        if file.stat().st_size > _LARGEST_FILE_BYTES:
            raise BadSetting(f"{file} is too large to be a settings file: name a TOML file")
        return tomllib.loads(file.read_bytes().decode("utf-8"))
    except OSError as error:
        raise BadSetting(f"{file} cannot be read: {error.strerror or error}") from None
    except (tomllib.TOMLDecodeError, UnicodeDecodeError, RecursionError) as error:
        raise BadSetting(f"{file} is not a TOML file: {error}") from None


def _of_environment(environment: Mapping[str, str]) -> Iterator[tuple[str, Any]]:
    for variable, value in sorted(environment.items()):
        if variable.startswith(ENVIRONMENT_PREFIX) and "__" in variable:
            name = variable[len(ENVIRONMENT_PREFIX) :].lower().replace("__", ".", 1)
            yield name, read_value(value)


def read_value(text: str) -> Any:
    """A value as flags and the environment give it: JSON where it is JSON, else the text itself."""
    try:
        return json.loads(text)
    except (ValueError, RecursionError):
        return text


def read_assignment(text: str) -> tuple[str, Any]:
    """`polite.delay=5s` as a name and a value."""
    name, equals, value = text.partition("=")
    if not equals or not re.fullmatch(r"\s*\w+\.\w+\s*", name):
        raise BadSetting(f"{text!r} sets nothing: write -s section.key=value, for example -s polite.delay=5s")
    return name.strip(), read_value(value)


def _nearest(name: str, known: Iterable[str]) -> str:
    near = difflib.get_close_matches(name, list(known), n=1, cutoff=0.5)
    return f"did you mean {near[0]!r}?" if near else "`lycosa config show` lists all settings"


# -- showing ----------------------------------------------------------------------------------------------------------


def describe() -> list[Setting]:
    """Every setting, in order."""
    found = []
    for section in _fields(Settings):
        for field in _fields(section.type):
            meaning = next(
                meta.description for meta in get_args(field.type) if isinstance(meta, Meta) and meta.description
            )
            default = getattr(section.type(), field.name)
            found.append(Setting(f"{section.name}.{field.name}", _shown(default), meaning))
    return found


def show(settings: Settings) -> str:
    """The settings as a TOML file that `load` reads back."""
    meanings = {setting.name: setting.meaning for setting in describe()}
    lines = []
    for section in _fields(Settings):
        lines.append(f"[{section.name}]")
        for field in _fields(section.type):
            value = getattr(getattr(settings, section.name), field.name)
            shown = f"{field.name} = {_shown(value)}" if value is not None else f"# {field.name} is not set"
            lines += [f"# {meanings[f'{section.name}.{field.name}']}", shown]
        lines.append("")
    return "\n".join(lines)


def schema() -> dict[str, Any]:
    """The JSON Schema of a settings file."""
    made: dict[str, Any] = {}
    for section in _fields(Settings):
        keys = {}
        for field in _fields(section.type):
            default = json.loads(_shown(getattr(section.type(), field.name)).replace("none", "null"))
            keys[field.name] = {**msgspec.json.schema(field.type, schema_hook=_quantity_schema), "default": default}
        made[section.name] = {"type": "object", "properties": keys, "additionalProperties": False}
    head = {"$schema": "https://json-schema.org/draft/2020-12/schema", "title": "Settings of Lycosa"}
    return {**head, "type": "object", "properties": made, "additionalProperties": False}


def _quantity_schema(kind: type) -> dict[str, Any]:
    return {"type": ["string", "number"], "title": kind.__name__}


def _shown(value: Any) -> str:
    """A value in TOML, which for these is JSON."""
    if isinstance(value, Seconds):
        return json.dumps(show_duration(value))
    if isinstance(value, Bytes):
        return json.dumps(show_size(value).replace(" ", ""))
    if value is None:
        return "none"
    text = json.dumps(list(value) if isinstance(value, tuple) else value, ensure_ascii=False, default=str)
    return text.replace("\x7f", "\\u007f")  # the one character that JSON leaves bare and TOML does not

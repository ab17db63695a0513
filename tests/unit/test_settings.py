"""Settings: defaults that work, three places that override them, and errors that name the remedy."""

import json
import tomllib
from pathlib import Path

import msgspec
import pytest
from hypothesis import HealthCheck, example, given, settings
from hypothesis import strategies as st

from lycosa.config import Settings, describe, from_tree, load, read_assignment, read_value, schema, show
from lycosa.errors import BadInput, BadSetting

NAMES = [setting.name for setting in describe()]
MOST_SETTINGS = 60


def given_as(**values: object) -> Settings:
    return load(given=[(name.replace("__", "."), value) for name, value in values.items()])


def write(folder: Path, text: str | bytes) -> Path:
    file = folder / "lycosa.toml"
    file.write_bytes(text.encode() if isinstance(text, str) else text)
    return file


def test_without_any_source_every_setting_has_a_default_that_works() -> None:
    assert load() == Settings()
    assert load().polite.delay == 2.0
    assert load().crawl.scope == "host"


def test_the_environment_wins_over_the_file_and_flags_over_both(tmp_path: Path) -> None:
    file = write(tmp_path, '[polite]\ndelay = "3s"\n')
    environment = {"LYCOSA_POLITE__DELAY": "4s"}
    assert load(file).polite.delay == 3
    assert load(file, environment).polite.delay == 4
    assert load(file, environment, [("polite.delay", "5s")]).polite.delay == 5


def test_sources_add_up_and_the_last_of_equal_flags_wins(tmp_path: Path) -> None:
    file = write(tmp_path, "[fetch]\nslots = 7\n")
    made = load(file, {"LYCOSA_AGENT__NAME": "Spider"}, [("crawl.max_depth", 1), ("crawl.max_depth", 2)])
    assert (made.fetch.slots, made.agent.name, made.crawl.max_depth) == (7, "Spider", 2)


def test_other_variables_of_the_environment_do_not_matter() -> None:
    assert load(None, {"LYCOSA_HOME": "/x", "PATH": "/bin", "polite__delay": "9s"}) == Settings()


def test_quantities_are_numbers_or_texts_with_units() -> None:
    made = given_as(polite__delay="1.5m", fetch__max_body="2MB", fetch__timeout=7)
    assert (made.polite.delay, made.fetch.max_body, made.fetch.timeout) == (90, 2_000_000, 7)


@pytest.mark.parametrize("value", ["2y", "", "-1s", -1, True, None, [], {}, float("nan"), float("inf"), 1e300])
def test_a_quantity_that_makes_no_sense_is_refused_by_name(value: object) -> None:
    with pytest.raises(BadSetting, match=r"fetch\.timeout"):
        given_as(fetch__timeout=value)


def test_an_unknown_setting_names_the_nearest() -> None:
    with pytest.raises(BadSetting, match=r"did you mean 'polite\.delay'"):
        given_as(polite__dely=3)
    with pytest.raises(BadSetting, match=r"did you mean 'polite'"):
        given_as(polit__delay=3)
    with pytest.raises(BadSetting, match="config show"):
        given_as(zzzzzzzz__qqqqqqq=3)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("fetch.slots", 0),
        ("fetch.slots", "many"),
        ("fetch.slots", 1.5),
        ("crawl.scope", "galaxy"),
        ("crawl.max_pages", 0),
        ("crawl.max_depth", -1),
        ("crawl.include", "/docs"),
        ("crawl.media", "yes"),
        ("agent.name", ""),
        ("agent.name", "my bot"),
        ("agent.name", "Bot/1.0"),
        ("urls.tracking", [1]),
        ("budget.domain_pages", 0),
    ],
)
def test_a_value_out_of_range_is_refused_and_the_setting_named(name: str, value: object) -> None:
    with pytest.raises(BadSetting) as refused:
        load(given=[(name, value)])
    assert name in str(refused.value)
    assert "\n" not in str(refused.value)


def test_less_than_a_second_between_requests_is_for_own_hosts_only() -> None:
    with pytest.raises(BadSetting, match=r"polite\.own_hosts"):
        given_as(polite__delay="999ms")
    assert given_as(polite__delay="1s").polite.delay == 1
    assert given_as(polite__delay=0, polite__own_hosts=["localhost"]).polite.delay == 0


@pytest.mark.parametrize(
    "content",
    [
        "[polite",
        "polite = 3",
        "delay = '2s'",
        "\x00",
        b"\xff\xfe",
        "[[polite]]\ndelay=2",
        "a=" + "[" * 5000,
        "x" * 1_000_001,
    ],
    ids=["broken", "section as value", "no section", "control", "not UTF-8", "array", "nested", "too large"],
)
def test_a_file_that_cannot_be_used_is_an_error_that_says_so(tmp_path: Path, content: str | bytes) -> None:
    with pytest.raises(BadSetting):
        load(write(tmp_path, content))


def test_a_file_that_is_not_there_or_a_folder_is_an_error(tmp_path: Path) -> None:
    with pytest.raises(BadSetting, match="cannot be read"):
        load(tmp_path / "absent.toml")
    with pytest.raises(BadSetting, match="cannot be read"):
        load(tmp_path)


@pytest.mark.parametrize(
    ("text", "value"), [("5", 5), ("5s", "5s"), ("true", True), ("null", None), ('["a"]', ["a"]), ("", ""), ("[", "[")]
)
def test_values_of_flags_are_json_where_they_are_json_and_text_else(text: str, value: object) -> None:
    assert read_value(text) == value


def test_an_assignment_is_a_name_and_a_value() -> None:
    assert read_assignment("polite.delay=5s") == ("polite.delay", "5s")
    assert read_assignment(' crawl.include =["a=b"]') == ("crawl.include", ["a=b"])


@pytest.mark.parametrize("text", ["", "polite.delay", "delay=3", "=3", ".=3", "a.b.c=3", "a b.c=3"])
def test_what_assigns_nothing_is_refused_with_an_example(text: str) -> None:
    with pytest.raises(BadSetting, match=r"-s polite\.delay=5s"):
        read_assignment(text)


def test_settings_shown_are_a_file_that_reads_back(tmp_path: Path) -> None:
    made = given_as(
        polite__delay="90s", crawl__include=["/a", 're:"x"\\d'], agent__contact="ä <a@b.c>", crawl__max_pages=3
    )
    assert load(write(tmp_path, show(made))) == made
    assert load(write(tmp_path, show(Settings()))) == Settings()


@given(st.floats(1, 1e9), st.integers(0, 10**14), st.text(max_size=20))
@example(1.0, 0, '\x7f\x00\\"\n')
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_settings_shown_read_back_to_the_precision_shown(
    tmp_path: Path, delay: float, size: int, text: str
) -> None:
    made = given_as(polite__delay=delay, fetch__max_body=size, agent__contact=text)
    back = load(write(tmp_path, show(made)))
    assert back.polite.delay == pytest.approx(delay, rel=1e-3)
    assert back.fetch.max_body == pytest.approx(size, rel=1e-3)
    assert back.agent.contact == text


def test_there_are_few_settings_and_each_says_what_it_means() -> None:
    assert len(NAMES) == len(set(NAMES)) < MOST_SETTINGS
    assert all(len(setting.meaning) > 10 for setting in describe())


@pytest.mark.parametrize(
    "name",
    "agent.name agent.contact polite.delay polite.own_hosts fetch.slots crawl.processes crawl.max_depth crawl.max_pages"
    " budget.domain_pages".split(),
)
def test_the_names_that_are_promised_exist(name: str) -> None:
    assert name in NAMES


def test_the_schema_describes_every_setting() -> None:
    told = schema()
    json.dumps(told)
    described = [f"{section}.{key}" for section, given in told["properties"].items() for key in given["properties"]]
    assert described == NAMES


def test_settings_cannot_be_changed_once_made() -> None:
    with pytest.raises(AttributeError):
        load().polite.delay = 0  # type: ignore[misc]


VALUES = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=10),
    lambda inner: st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3),
    max_leaves=5,
)


@given(st.lists(st.tuples(st.sampled_from(NAMES) | st.text(max_size=20), VALUES), max_size=4))
def test_any_values_are_settings_or_a_bad_setting(values: list[tuple[str, object]]) -> None:
    try:
        made = load(given=values)
    except BadInput as refused:
        assert isinstance(refused, BadSetting)  # noqa: PT017 either way is right
    else:
        assert msgspec.to_builtins(made, enc_hook=lambda value: value.real)


@given(st.binary(max_size=200) | st.text(max_size=100).map(str.encode))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_any_bytes_as_a_file_are_settings_or_a_bad_setting(tmp_path: Path, content: bytes) -> None:
    try:
        made = load(write(tmp_path, content))
    except BadInput as refused:
        assert isinstance(refused, BadSetting)  # noqa: PT017 either way is right
    else:
        assert made == from_tree(tomllib.loads(content.decode()))

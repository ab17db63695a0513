"""What was met lately: never a text that was not, always the last ones, and no more than there is room for."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.kit import recent
from lycosa.kit.recent import Recent

is_compiled = pytest.mark.skipif(recent.native is None, reason="lycosa.native was not compiled here")
SECRET = bytes(range(16))

Make = Callable[[int], Recent]


@pytest.fixture(params=[pytest.param("compiled", marks=is_compiled), "python"])
def make(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> Iterator[Make]:
    if request.param == "python":
        monkeypatch.setattr(recent, "native", None)
    return Recent


def test_a_text_is_met_once_it_was(make: Make) -> None:
    met = make(1_000)
    assert met.meet(["a", "b", "a", "é"]) == [False, False, True, False]
    assert met.meet(["b", "c", "é"]) == [True, False, True]
    assert met.unmet(["a", "b", "c", "d", "d", "e"]) == {"d", "e"}
    assert met.unmet(["d"]) == {"d"}  # to ask is not to meet
    assert met.meet([]) == []
    assert met.unmet([]) == set()


def test_what_is_met_often_stays_and_the_rest_is_forgotten_in_time(make: Make) -> None:
    met = make(1_000)
    met.meet(["often", "asked for"])
    for number in range(5_000):
        assert met.meet([f"http://a/{number}", "often"]) == [False, True]
        assert not met.unmet(["asked for", f"http://a/{number}"])
    assert met.unmet(["http://a/0", "http://a/4999", "often"]) == {"http://a/0"}
    assert 5_000 - len(met.unmet(f"http://a/{number}" for number in range(5_000))) <= 1_000


@is_compiled
def test_nearly_all_are_remembered_at_half_of_what_there_is_room_for() -> None:
    met, texts = Recent(20_000), [f"http://a.example/part/{number}.html" for number in range(10_000)]
    assert sum(met.meet(texts)) <= 1
    assert len(met.unmet(texts)) < 200


def test_least_room_is_for_one(make: Make) -> None:
    met = make(0)
    assert met.meet(["a", "b"]) == [False, False]
    assert len(met.unmet(str(number) for number in range(100))) == 100


@given(st.integers(1, 40), st.lists(st.tuples(st.booleans(), st.lists(st.text(max_size=3), max_size=80)), max_size=20))
@is_compiled
def test_nothing_is_met_that_was_not_and_the_last_are(most: int, rounds: list[tuple[bool, list[str]]]) -> None:
    met, ever = Recent(most), set[str]()
    for adds, texts in rounds:
        if adds:
            seen = list(met.meet(texts))
            for text, is_met in zip(texts, seen, strict=True):
                assert not is_met or text in ever
                ever.add(text)
            assert not texts or met.meet(texts[-1:]) == [True]
        else:
            assert met.unmet(texts) <= set(texts)
            assert set(texts) - met.unmet(texts) <= ever


@is_compiled
def test_a_text_that_cannot_be_written_is_never_met() -> None:
    met = Recent(100)
    assert met.meet(["\ud800", "\ud800", "a"]) == [False, False, False]
    assert met.unmet(["\ud800", "a"]) == {"\ud800"}


@is_compiled
def test_tables_do_not_share_a_secret() -> None:
    first, second = Recent(100), Recent(100)
    first.meet(["a"])
    second.meet(["a"])
    assert bytes(first._kept._table) != bytes(second._kept._table)  # type: ignore[union-attr]


@is_compiled
def test_wrong_arguments_are_said() -> None:
    table = bytearray(128)
    for look in (recent.native.meet, recent.native.unmet):
        with pytest.raises(ValueError, match="two lines"):
            look(bytearray(127), SECRET, ["a"])
        with pytest.raises(ValueError, match="two lines"):
            look(bytes(128), SECRET, ["a"])
        with pytest.raises(ValueError, match="16 bytes"):
            look(table, b"short", ["a"])
        with pytest.raises(TypeError, match="str"):
            look(table, SECRET, ["a", b"b"])
        with pytest.raises(TypeError):
            look(table, SECRET, ("a",))
        assert look(table, SECRET, ["a"]) is not None

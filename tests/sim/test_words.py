"""Made-up text: repeatable, shaped like language."""

from collections import Counter

import pytest

from lycosa.sim.dice import Dice
from lycosa.sim.words import TONGUES, lexicon, write_prose


@pytest.mark.parametrize("code", [tongue.code for tongue in TONGUES])
def test_words_follow_zipf_and_the_most_frequent_are_function_words(code: str) -> None:
    words = lexicon(code).draw(Dice(5).stretch(400_000, code))
    ranked = Counter(words).most_common()
    assert ranked[0][0] in lexicon(code).tongue.function_words.split()
    frequency = [count for _, count in ranked]
    # Zipf: ten times the rank, about a tenth of the frequency (the flat start allowed for).
    assert 4 < frequency[9] / frequency[99] < 16
    assert 5 < frequency[99] / frequency[999] < 20
    assert len(ranked) > 5_000


def test_the_same_dice_write_the_same_text() -> None:
    english = lexicon("en")
    assert english.title(Dice(1), 4, 2) == english.title(Dice(1), 4, 2)
    assert english.title(Dice(1), 4, 2) != english.title(Dice(2), 4, 2)


def test_prose_has_capitals_and_full_stops_and_keeps_every_word() -> None:
    raw = Dice(1).stretch(240, "prose")
    words = lexicon("de").draw(raw)
    prose = write_prose(words, raw)
    assert prose.endswith(".")
    assert prose[0].isupper()
    assert prose.lower().replace(".", "").replace(",", "").split() == [word.lower() for word in words]
    assert 3 < prose.count(".") < 20


def test_dice_are_uniform_and_normal_where_they_say_so() -> None:
    dice, draws = Dice("check"), 20_000
    shares = [dice.share("share", n) for n in range(draws)]
    normals = [dice.normal("normal", n) for n in range(draws)]
    assert all(0 <= share < 1 for share in shares)
    assert abs(sum(shares) / draws - 0.5) < 0.01
    assert abs(sum(normals) / draws) < 0.03
    assert abs(sum(value * value for value in normals) / draws - 1) < 0.05
    assert dice.stretch(100, "x")[:10] == dice.stretch(10, "x")

"""Fingerprints: near texts are near, other texts are far, and near ones always meet in a band."""

import random
from itertools import pairwise

from hypothesis import given
from hypothesis import strategies as st

from lycosa.kit.simhash import BANDS, RADIUS, bands, distance, simhash

FINGERPRINTS = st.integers(0, 2**64 - 1)
WORDS = 20_000
TEXTS = 250


def texts(seed: int, length: int, count: int = TEXTS) -> list[list[str]]:
    """Texts over a vocabulary in which, as in language, the n-th word is n times rarer than the first."""
    dice = random.Random(seed)
    vocabulary = [f"w{number}" for number in range(WORDS)]
    weights = [1 / (rank + 1) for rank in range(WORDS)]
    return [dice.choices(vocabulary, weights, k=length) for _ in range(count)]


def share_still_near(length: int) -> float:
    dice = random.Random(7)
    near = 0
    for words in texts(length, length):
        changed = list(words)
        changed[dice.randrange(length)] = "somethingelse"
        near += distance(simhash(" ".join(words)), simhash(" ".join(changed))) <= RADIUS
    return near / TEXTS


def test_one_changed_word_in_two_thousand_leaves_texts_near() -> None:
    assert share_still_near(2_000) >= 0.95


def test_one_changed_word_in_five_hundred_mostly_leaves_texts_near() -> None:
    assert share_still_near(500) >= 0.80


def test_unrelated_texts_are_far_apart() -> None:
    prints = [simhash(" ".join(words)) for words in texts(3, 300, 200)]
    apart = [distance(one, other) > RADIUS for at, one in enumerate(prints) for other in prints[:at]]
    assert sum(apart) / len(apart) >= 0.999


def test_unrelated_texts_differ_in_about_half_of_their_bits() -> None:
    prints = [simhash(f"{number} is a text with {number * 7} words {number * 13}") for number in range(300)]
    mean = sum(distance(one, other) for one, other in pairwise(prints)) / (len(prints) - 1)
    assert 20 < mean < 40


def test_the_same_text_has_the_same_fingerprint_whatever_its_case_and_spacing() -> None:
    assert simhash("The quick  brown\nfox") == simhash("the QUICK brown fox")


def test_the_fingerprint_does_not_change_between_runs_and_versions() -> None:
    assert simhash("a wolf spider hunts by night") == simhash("a wolf spider hunts by night") != 0
    assert simhash("one") != simhash("two")


def test_a_text_without_words_has_the_fingerprint_zero() -> None:
    assert simhash("") == simhash(" \n\t ") == 0


def test_order_matters_because_pairs_vote() -> None:
    assert simhash("man bites dog in the old town") != simhash("dog bites man in the old town")


def test_repeating_a_text_changes_little_because_each_pair_votes_once() -> None:
    text = " ".join(texts(5, 400, 1)[0])
    assert distance(simhash(text), simhash(f"{text} {text} {text}")) <= RADIUS


def test_text_without_spaces_is_compared_by_characters() -> None:
    dice = random.Random(4)
    letters = [chr(dice.randrange(0x4E00, 0x9000)) for _ in range(3_000)]
    changed = [*letters[:1500], "。", *letters[1501:]]
    assert distance(simhash("".join(letters)), simhash("".join(changed))) <= RADIUS + 3
    assert distance(simhash("".join(letters)), simhash("".join(reversed(letters)))) > RADIUS


@given(st.text(max_size=300))
def test_any_text_has_a_fingerprint_of_64_bits(text: str) -> None:
    assert 0 <= simhash(text) < 2**64


def test_more_pairs_than_a_byte_can_count_do_not_overflow() -> None:
    for length in (254, 255, 256, 257, 510, 511, 512, 5_000):
        numbered = " ".join(f"word{at}" for at in range(length))
        assert distance(simhash(numbered), simhash(f"{numbered} end")) <= 6


def test_a_long_text_is_hashed_in_pieces_that_end_between_words() -> None:
    text = " ".join(f"word{at}" for at in range(20_000))
    assert {simhash(" " * shift + text) for shift in range(0, 40_000, 4_999)} == {simhash(text)}
    assert distance(simhash("x" * 100_000 + text), simhash(text)) <= RADIUS


@given(FINGERPRINTS, st.sets(st.integers(0, 63), max_size=RADIUS))
def test_fingerprints_within_the_radius_share_a_band(fingerprint: int, flipped: set[int]) -> None:
    other = fingerprint
    for bit in flipped:
        other ^= 1 << bit
    assert distance(fingerprint, other) == len(flipped)
    assert set(bands(fingerprint)) & set(bands(other))


@given(FINGERPRINTS)
def test_there_are_ten_bands_and_each_names_itself(fingerprint: int) -> None:
    keys = bands(fingerprint)
    assert len(keys) == BANDS
    assert [key >> 26 for key in keys] == list(range(BANDS))


def test_unrelated_fingerprints_seldom_share_a_band() -> None:
    dice = random.Random(11)
    prints = [dice.getrandbits(64) for _ in range(1_000)]
    seen: set[int] = set()
    shared = 0
    for fingerprint in prints:
        keys = set(bands(fingerprint))
        shared += bool(keys & seen)
        seen |= keys
    assert shared < 10  # a band has at least 25 bits


@given(FINGERPRINTS, FINGERPRINTS, FINGERPRINTS)
def test_distance_is_a_metric(one: int, two: int, three: int) -> None:
    assert distance(one, one) == 0
    assert distance(one, two) == distance(two, one)
    assert distance(one, three) <= distance(one, two) + distance(two, three)

"""Which language a text is in."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from lycosa.search.cjk import space_pairs
from lycosa.search.language import language_of, read_code

TEXTS = {
    "en": "The spider waits in the corner of the room, and it is not known to us what it will do with the fly.",
    "de": "Die Spinne sitzt in der Ecke und wartet auf die Fliege, aber es ist nicht bekannt, was sie mit ihr tut.",
    "fr": "L'araignée est dans le coin de la pièce et elle attend la mouche, mais on ne sait pas ce qui va arriver.",
    "es": "La araña está en el rincón de la habitación y espera a la mosca, pero no se sabe lo que hay.",
    "it": "Il ragno è nell'angolo della stanza e aspetta la mosca, ma non si sa che cosa può fare con questa.",
    "pt": "A aranha está no canto da sala e espera pela mosca, mas não se sabe o que ela pode fazer com isso.",
    "nl": "De spin zit in de hoek van het huis en wacht op een vlieg, maar het is niet bekend wat zij met haar doet.",
    "ru": "Паук сидит в углу и ждёт муху, но не известно, что он с ней сделает, если она к нему прилетит.",
    "uk": "Павук сидить у кутку і чекає на муху, але це не все, що він може, якщо вона до нього прилетить.",
    "el": "Η αράχνη είναι στη γωνία και περιμένει τη μύγα.",
    "ja": "クモは部屋の隅でハエを待っています。",
    "zh": "蜘蛛在房间的角落里等待苍蝇。",
    "ko": "거미가 방 구석에서 파리를 기다립니다.",
    "ar": "العنكبوت في زاوية الغرفة وهو ينتظر الذبابة على الجدار",
}


@pytest.mark.parametrize("language", TEXTS)
def test_a_sentence_is_known_by_its_script_and_its_words(language: str) -> None:
    assert language_of(TEXTS[language]) == language


def test_a_text_outweighs_what_its_page_claims() -> None:
    assert language_of(TEXTS["de"] * 3, "en") == "de"


def test_a_text_that_says_too_little_is_what_its_page_claims() -> None:
    assert language_of("42", "fr-CA") == "fr"
    assert language_of("") == ""


@pytest.mark.parametrize(
    ("said", "code"), [("en-GB", "en"), ("EN_us", "en"), ("nb", "no"), ("", ""), ("x", ""), ("english", "")]
)
def test_codes_are_read_in_any_spelling(said: str, code: str) -> None:
    assert read_code(said) == code


@given(st.text(max_size=300), st.none() | st.text(max_size=10))
def test_any_text_has_a_code_or_none(text: str, claimed: str | None) -> None:
    code = language_of(text, claimed)
    assert code == "" or (code.isascii() and 2 <= len(code) <= 3)


def test_runs_without_spaces_become_pairs() -> None:
    assert space_pairs("x検索機y 字").split() == ["x", "検索", "索機", "y", "字"]
    assert space_pairs("plain text") == "plain text"

"""Made-up languages and the text written in them.

Each tongue has a lexicon of real function words (so stop lists and language guesses have something to hold on
to) and thousands of invented ones built from its own syllables. Words are drawn by Zipf's law from a table of
65,536 slots, two random bytes a word, so a page of 20 KB costs a fraction of a millisecond.

The lexicons are the same in every world; the text depends on the dice alone. Never real prose: nothing here
can be mistaken for somebody's work.
"""

import sys
from array import array
from functools import cache
from typing import NamedTuple

from lycosa.sim.dice import Dice

SLOTS = 65_536
_VOCABULARY = 10_000
_SHORTEST_SENTENCE = 6
LONG_WORD = 4


class Tongue(NamedTuple):
    code: str
    legacy_charset: str
    function_words: str
    onsets: str
    nuclei: str
    codas: str


TONGUES = (
    Tongue(
        "en",
        "iso-8859-1",
        "the of and to in a is that for it was on with as by be at this from or which an are not but have",
        "b c d f g h k l m n p r s t v w st tr pl ch sh br gr",
        "a e i o u ea oo ai",
        "- - n r l s t nd st ng rd m",
    ),
    Tongue(
        "de",
        "iso-8859-1",
        "der die und das in zu den mit von ist nicht ein auf eine dem für sich als auch es an aus er hat",
        "b d f g h k l m n r s t w z sch st pf tr br kl",
        "a e i o u ä ö ü au ei ie",
        "- n r l cht ng rt sch ss nd st",
    ),
    Tongue(
        "fr",
        "iso-8859-1",
        "de la le et les des en un une du est pour que dans qui par sur pas plus au avec ce il sont sa ou",
        "b c d f g j l m n p r s t v ch pr tr fl gr",
        "a e i o u é è ou oi au ai",
        "- - - n r l s t nt re que",
    ),
    Tongue(
        "es",
        "iso-8859-1",
        "de la que el en y a los se del las un por con no una su para es al lo como más o pero sus le ha",
        "b c d f g j l m n p r s t v ll ñ br tr pl",
        "a e i o u ie ue ía",
        "- - - n r l s d z",
    ),
    Tongue(
        "ru",
        "windows-1251",
        "и в не на я что он с а как это по но они к у мы из за то же от так для о все бы",
        "б в г д ж з к л м н п р с т ф х ч ш ст пр тр",
        "а е и о у ы я ю",
        "- - - н р л с т к ть й в м",
    ),
    Tongue(
        "el",
        "iso-8859-7",
        "και το να του η της με που την από για είναι των σε ο οι στο θα τα στην δεν τον ένα μια",
        "β γ δ ζ θ κ λ μ ν π ρ σ τ φ χ στ πρ τρ κλ",
        "α ε η ι ο υ ω ου αι ει",
        "- - - ς ν ρ",
    ),
)


class Lexicon:
    """The words of one tongue, from the most to the least frequent."""

    def __init__(self, tongue: Tongue) -> None:
        self.tongue = tongue
        self.words = _invent(tongue)
        self._slots = _share_out(self.words)
        self.bytes_per_word = sum(len(word.encode()) for word in self._slots) / SLOTS + 1.1  # a space, some stops

    def draw(self, raw: bytes) -> list[str]:
        """One word for every two bytes."""
        numbers = array("H", raw[: len(raw) // 2 * 2])
        if sys.byteorder == "big":
            numbers.byteswap()
        slots = self._slots
        return [slots[number] for number in numbers]

    def title(self, dice: Dice, *what: str | int) -> str:
        """Four to seven words of which the rarer ones are preferred, as headings do."""
        raw = dice.stretch(2 * 14, "title", *what)
        words = sorted(set(self.draw(raw[2:])), key=lambda word: (len(word) < LONG_WORD, word))
        return " ".join(words[: 4 + raw[0] % 4]).capitalize()


def write_prose(words: list[str], raw: bytes) -> str:
    """Words as sentences, with capitals, commas and full stops; the raw bytes decide where."""
    text, start = list(words), 0
    for byte in raw:
        text[start] = text[start].capitalize()
        end = start + _SHORTEST_SENTENCE + byte % 16
        if end >= len(text):
            break
        if byte & 128:
            text[start + 3] += ","
        text[end - 1] += "."
        start = end
    text[-1] += "."
    return " ".join(text)


@cache
def lexicon(code: str) -> Lexicon:
    return Lexicon(next(tongue for tongue in TONGUES if tongue.code == code))


def _invent(tongue: Tongue) -> list[str]:
    dice = Dice(f"lexicon {tongue.code}")
    onsets, nuclei = tongue.onsets.split(), tongue.nuclei.split()
    codas = ["" if coda == "-" else coda for coda in tongue.codas.split()]
    known = dict.fromkeys(tongue.function_words.split())
    raw = dice.stretch(16 * 4 * _VOCABULARY, "syllables")
    for start in range(0, len(raw), 16):
        chunk = raw[start : start + 16]
        syllables = (1, 2, 2, 2, 3, 3, 3, 4)[chunk[0] % 8]
        pairs = zip(chunk[1:15:3], chunk[2:15:3], strict=False)
        letters = [onsets[a % len(onsets)] + nuclei[b % len(nuclei)] for a, b in pairs][:syllables]
        known.setdefault("".join(letters) + codas[chunk[15] % len(codas)])
        if len(known) == _VOCABULARY:
            break
    return list(known)


def _share_out(words: list[str]) -> list[str]:
    """A slot for every 1/65,536 of probability; the rarest words may get none."""
    weights = [1 / (rank + 2.7) for rank in range(len(words))]
    scale, total, filled = SLOTS / sum(weights), 0.0, 0
    slots: list[str] = []
    for word, weight in zip(words, weights, strict=True):
        total += weight * scale
        slots.extend([word] * (round(total) - filled))
        filled = round(total)
    return slots

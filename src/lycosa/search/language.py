"""Which language a text is in, from its script and its commonest words.

The script decides where it can: Greek, Hangul, kana. Elsewhere each of the commonest words votes for the languages that
have it, the fewer the more. A text that says too little gets the language its page claims, or none. docs/search.md says
how often that is right.
"""

from __future__ import annotations

import re

from lycosa.search.stopwords import STOP_WORDS

_SAMPLE = 1_000  # characters: more of them decide hardly better
_SKIP = 200  # the beginning of a page is often a menu
_LEAST_VOTES = 2.0
_CLEAR = 1.25  # times the votes of the second
_CODE = re.compile(r"[A-Za-z]{2,3}(?![A-Za-z])")
_WORD = re.compile(r"[^\W\d_]+")
_ALIASES = {"nb": "no", "nn": "no", "iw": "he", "in": "id", "cmn": "zh", "jp": "ja"}
# Scripts by their characters, and the languages written in them; the first is meant where words do not tell.
_SCRIPTS = (
    (re.compile("[\u3040-\u30ff]"), ("ja",)),
    (re.compile("[\uac00-\ud7af]"), ("ko",)),
    (re.compile("[\u4e00-\u9fff\u3400-\u4dbf]"), ("zh",)),
    (re.compile("[\u0400-\u04ff]"), ("ru", "uk", "bg")),
    (re.compile("[\u0370-\u03ff]"), ("el",)),
    (re.compile("[\u0600-\u06ff]"), ("ar", "fa")),
    (re.compile("[\u0590-\u05ff]"), ("he",)),
    (re.compile("[\u0900-\u097f]"), ("hi",)),
    (re.compile("[\u0b80-\u0bff]"), ("ta",)),
    (re.compile("[\u0e00-\u0e7f]"), ("th",)),
)
_FOREIGN = re.compile("[^\0-\u02ff\u1e00-\u2fff]")  # letters that are not Latin; one look saves ten
_SHARE = 0.2  # of a text that a script needs to be its script
_NONE = (0.0, "")
_OTHERS = frozenset(language for _, languages in _SCRIPTS for language in languages)


def _ballots() -> dict[str, tuple[tuple[str, ...], float]]:
    voters: dict[str, list[str]] = {}
    for language, words in STOP_WORDS.items():
        for word in words:
            voters.setdefault(word, []).append(language)
    return {word: (tuple(languages), 1.0 / len(languages)) for word, languages in voters.items()}


_BALLOTS = _ballots()


def language_of(text: str, claimed: str | None = None) -> str:
    """A code like `en`, or an empty text. `claimed` is what the page says of itself, in any spelling."""
    said = read_code(claimed)
    start = _SKIP if len(text) > 2 * _SAMPLE else 0
    sample = text[start : start + _SAMPLE]
    if (
        not sample.isascii()
        and len(_FOREIGN.findall(sample)) > _SHARE / 2 * len(sample)
        and (found := _by_script(sample))
    ):
        return found
    votes = _votes(sample)
    (most, first), (second, _) = (*sorted([(count, name) for name, count in votes.items()])[:-3:-1], _NONE, _NONE)[:2]
    if most < _LEAST_VOTES or (most < _CLEAR * second and said):
        return said
    return first if first not in _OTHERS else said


def _votes(sample: str) -> dict[str, float]:
    votes: dict[str, float] = {}
    for word in sample.lower().split():
        if word in _BALLOTS:
            languages, vote = _BALLOTS[word]
            for language in languages:
                votes[language] = votes.get(language, 0.0) + vote
    return votes


def read_code(claimed: str | None) -> str:
    """`en` from `en-GB`, `EN_us` or `en, de`."""
    found = _CODE.match((claimed or "").strip())
    code = found[0].lower() if found else ""
    return _ALIASES.get(code, code)


def _by_script(sample: str) -> str:
    letters = max(1, len(sample) - sample.count(" "))
    for pattern, languages in _SCRIPTS:
        count = len(pattern.findall(sample))
        if count < _SHARE * letters:
            continue
        if len(languages) == 1:
            # Japanese is written with Chinese characters too, so a few kana are enough, and they come first.
            return languages[0]
        words = _WORD.findall(sample.lower())
        return max(languages, key=lambda language: sum(word in STOP_WORDS[language] for word in words))
    return ""

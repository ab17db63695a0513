"""Hot paths in C. The module is missing where no compiler was found: see ADR 0010."""

from collections.abc import Callable

_Notes = list[tuple[str, dict[str, str | None], str | None]]
_Anchors = list[tuple[str, str, str, str]]
_Blocks = list[tuple[str, str, str, int]]

def read_page(
    html: bytes, entities: dict[str, str], longest_href: int, /
) -> tuple[_Notes, _Anchors, int, list[tuple[int, str]], str] | None: ...
def read_words(html: bytes, entities: dict[str, str], longest_href: int, /) -> tuple[str, _Blocks] | None: ...
def read_links(
    refs: list[str],
    base: str,
    origin_size: int,
    origins: dict[str, dict[str, str]],
    rooted: dict[str, str],
    whole: dict[str, str],
    dropped: dict[str, bool],
    learn: Callable[[str, str], str | None],
    /,
) -> dict[str, str] | None: ...
def simhash(text: str | bytes, longest_word: int, mean_letters: int, /) -> int | None: ...
def add_keys(bits: bytearray, keys: list[bytes], /) -> None: ...
def find_keys(filters: list[bytearray], keys: list[bytes], /) -> list[int]: ...
def add_notes(buffer: tuple[bytearray, bytes], urls: list[str], /) -> int: ...
def find_notes(
    buffers: list[tuple[bytearray, bytes]], files: list[tuple[int, int, bytes]], urls: list[str], places: list[int], /
) -> list[bool]: ...
def sweep_notes(buffer: tuple[bytearray, bytes], file: tuple[int, int, bytes], first: int, end: int, /) -> None: ...
def read_columns(
    entries: list[bytes], kinds: tuple[str, ...], places: tuple[int, ...], /
) -> list[list[tuple[int, int, bytes | None, bytes | None, bytes]]] | None: ...

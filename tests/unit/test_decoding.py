"""Content codings, undone under caps."""

from __future__ import annotations

import gzip
import zlib
from collections.abc import Callable

import brotli
import pytest
import zstandard
from hypothesis import given
from hypothesis import strategies as st

from lycosa.backends.decoding import FREE_BYTES, MOST_RATIO, Decoded, Decoder, read_codings

PAGE = b"<!DOCTYPE html>\n<title>Coded</title>\n" + b"<p>a line with some words in it</p>\n" * 3000
ROOM = 10_000_000


def bare_deflate(data: bytes) -> bytes:
    squeeze = zlib.compressobj(9, zlib.DEFLATED, -15)
    return squeeze.compress(data) + squeeze.flush()


CODERS: dict[str, Callable[[bytes], bytes]] = {
    "gzip": gzip.compress,
    "x-gzip": gzip.compress,
    "deflate": zlib.compress,
    "br": lambda data: bytes(brotli.compress(data, quality=5)),
    "zstd": lambda data: zstandard.ZstdCompressor().compress(data),
}


def decode(codings: tuple[str, ...], payload: bytes, step: int = 16_384, room: int = ROOM) -> tuple[Decoded, int]:
    """What comes of it, and how much of it was taken."""
    decoder, taken = Decoder(codings, room), 0
    while taken < len(payload):
        piece = payload[taken : taken + step]
        taken += len(piece)
        if not decoder.feed(piece):
            break
    return decoder.finish(payload[:taken]), taken


@pytest.mark.parametrize("step", [1, 7, 4096, 1 << 20])
@pytest.mark.parametrize("coding", CODERS)
def test_every_coding_is_undone_however_it_arrives(coding: str, step: int) -> None:
    decoded, _ = decode((coding,), CODERS[coding](PAGE), step)
    assert decoded == (PAGE, "whole")


@pytest.mark.parametrize("step", [1, 1 << 20])
def test_deflate_without_its_wrapping_is_understood(step: int) -> None:
    assert decode(("deflate",), bare_deflate(PAGE), step)[0] == (PAGE, "whole")


@given(st.binary(max_size=3000), st.lists(st.sampled_from(["gzip", "deflate", "br", "zstd"]), min_size=1, max_size=3))
def test_layers_are_undone_in_reverse_order(body: bytes, codings: list[str]) -> None:
    payload = body
    for coding in codings:
        payload = CODERS[coding](payload)
    assert decode(tuple(codings), payload, 100)[0] == (body, "whole")


@pytest.mark.parametrize("step", [1, 3, 1 << 20])
@pytest.mark.parametrize("coding", ["gzip", "zstd"])
def test_streams_that_follow_each_other_are_one_body(coding: str, step: int) -> None:
    code = CODERS[coding]
    payload = code(PAGE[:1000]) + code(b"") + code(PAGE[1000:])
    assert decode((coding,), payload, step)[0] == (PAGE, "whole")


@pytest.mark.parametrize("coding", ["gzip", "deflate", "zstd"])
def test_padding_after_the_end_is_ignored(coding: str) -> None:
    for step in (1, 1 << 20):
        assert decode((coding,), CODERS[coding](PAGE) + b"\0" * 300, step)[0] == (PAGE, "whole")


@pytest.mark.parametrize("coding", CODERS)
def test_a_body_that_is_not_what_it_says_is_left_as_it_is(coding: str) -> None:
    for body in (PAGE, b"hello", b"{}"):
        decoded, _ = decode((coding,), body)
        if coding not in ("br", "deflate") or body is PAGE:  # five letters can begin a stream without a magic number
            assert decoded == (body, "as-is")


@pytest.mark.parametrize("coding", CODERS)
def test_a_stream_that_stops_short_gives_what_it_can_and_says_so(coding: str) -> None:
    noise = zlib.compress(PAGE, 0)[:60_000]  # hardly compressible, so that half of the stream holds something
    payload = CODERS[coding](noise + PAGE)
    for length in (len(payload) // 2, len(payload) - 1):
        decoded, _ = decode((coding,), payload[:length], 512)
        assert decoded.state == "cut"
        assert (noise + PAGE).startswith(decoded.body)


def test_a_wrong_checksum_does_not_cost_the_page() -> None:
    payload = bytearray(gzip.compress(PAGE[:20_000]))
    payload[-6] ^= 1
    assert decode(("gzip",), bytes(payload))[0] == (PAGE[:20_000], "cut")


def test_rubbish_after_brotli_does_not_cost_the_page() -> None:
    assert decode(("br",), CODERS["br"](PAGE[:20_000]) + b"\n\n")[0] == (PAGE[:20_000], "cut")


def test_an_empty_body_is_whole_whatever_its_coding() -> None:
    for coding in CODERS:
        assert decode((coding,), b"")[0] == (b"", "whole")


@pytest.mark.parametrize("coding", CODERS)
def test_a_bomb_stops_at_the_size(coding: str) -> None:
    payload = CODERS[coding](bytes(30_000_000))
    decoded, taken = decode((coding,), payload, 256, room=150_000)
    assert (len(decoded.body), decoded.state) == (150_000, "full")
    assert taken <= 512


@pytest.mark.parametrize("coding", CODERS)
def test_a_bomb_stops_at_the_ratio(coding: str) -> None:
    payload = CODERS[coding](bytes(30_000_000))
    decoded, taken = decode((coding,), payload, 64, room=1 << 40)
    assert decoded.state == "full"
    assert len(decoded.body) <= MOST_RATIO * taken + FREE_BYTES


def test_a_bomb_between_two_layers_stops_too() -> None:
    inner = gzip.compress(bytes(30_000_000))  # 30 KB that grow, and shrink well
    payload = CODERS["br"](inner)
    decoded, _ = decode(("gzip", "br"), payload, 64)
    assert decoded.state == "full"
    assert len(decoded.body) <= MOST_RATIO * len(payload) + FREE_BYTES


def test_zstd_windows_over_8_mb_are_refused() -> None:
    parameters = zstandard.ZstdCompressionParameters.from_level(3, window_log=24, write_content_size=False)
    squeeze = zstandard.ZstdCompressor(compression_params=parameters).compressobj()
    payload = squeeze.compress(PAGE) + squeeze.flush()
    assert decode(("zstd",), payload)[0] == (payload, "as-is")


@given(st.sampled_from(sorted(CODERS)), st.binary(max_size=400), st.integers(1, 50))
def test_no_bytes_make_it_raise(coding: str, data: bytes, step: int) -> None:
    decoded, _ = decode((coding,), data, step)
    assert decoded.state in ("whole", "cut", "as-is", "full")


@given(st.sampled_from(sorted(CODERS)), st.data())
def test_no_damage_makes_it_raise(coding: str, data: st.DataObject) -> None:
    payload = bytearray(CODERS[coding](PAGE[:5000]))
    for _ in range(data.draw(st.integers(1, 4))):
        payload[data.draw(st.integers(0, len(payload) - 1))] = data.draw(st.integers(0, 255))
    decoded, _ = decode((coding,), bytes(payload), data.draw(st.integers(1, 5000)))
    assert len(decoded.body) <= MOST_RATIO * len(payload) + FREE_BYTES


@pytest.mark.parametrize(
    ("values", "codings"),
    [
        ([], ()),
        (["gzip"], ("gzip",)),
        (["GZip, identity"], ("gzip",)),
        (["gzip", "br"], ("gzip", "br")),
        (["gzip, br ,zstd"], ("gzip", "br", "zstd")),
        ([""], ()),
        (["gzip,gzip,gzip,gzip"], None),
        (["compress"], None),
        (["utf-8"], None),
        (["gzip, rot13"], None),
    ],
)
def test_how_the_header_is_read(values: list[str], codings: tuple[str, ...] | None) -> None:
    assert read_codings(values) == codings

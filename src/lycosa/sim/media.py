"""Files that are no pages: a small picture and a one-page document for every number, so media links lead
somewhere."""

import re
import struct
import zlib

from lycosa.sim.dice import Dice

_TARGET = re.compile(r"/media/(image|paper)-(\d{1,3})\.(png|pdf)")


def make_media(dice: Dice, host: int, target: str) -> tuple[str, bytes] | None:
    """Content type and bytes of the file at that target, or None if there is none."""
    found = _TARGET.fullmatch(target)
    if found is None or (found[1] == "image") != (found[3] == "png"):
        return None
    number = int(found[2])
    if found[1] == "image":
        return "image/png", _draw_png(dice.stretch(3, "colour", host, number))
    return "application/pdf", _print_pdf(f"Paper {number} of host {host}")


def _draw_png(colour: bytes, side: int = 16) -> bytes:
    def chunk(kind: bytes, data: bytes) -> bytes:
        return struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data))

    header = chunk(b"IHDR", struct.pack(">IIBBBBB", side, side, 8, 2, 0, 0, 0))
    pixels = chunk(b"IDAT", zlib.compress((b"\0" + colour * side) * side, 6))
    return b"\x89PNG\r\n\x1a\n" + header + pixels + chunk(b"IEND", b"")


def _print_pdf(text: str) -> bytes:
    shown = f"BT /F1 18 Tf 40 60 Td ({text}) Tj ET"
    objects = (
        "<</Type/Catalog/Pages 2 0 R>>",
        "<</Type/Pages/Kids[3 0 R]/Count 1>>",
        "<</Type/Page/Parent 2 0 R/MediaBox[0 0 300 120]/Contents 4 0 R/Resources<</Font<</F1 5 0 R>>>>>>",
        f"<</Length {len(shown)}>>\nstream\n{shown}\nendstream",
        "<</Type/Font/Subtype/Type1/BaseFont/Times-Roman>>",
    )
    out, places = "%PDF-1.4\n", []
    for number, content in enumerate(objects, 1):
        places.append(len(out))
        out += f"{number} 0 obj\n{content}\nendobj\n"
    table = "".join(f"{place:010d} 00000 n \n" for place in places)
    size = len(objects) + 1
    end = f"xref\n0 {size}\n0000000000 65535 f \n{table}trailer\n<</Size {size}/Root 1 0 R>>\n"
    return f"{out}{end}startxref\n{len(out)}\n%%EOF\n".encode("latin-1")

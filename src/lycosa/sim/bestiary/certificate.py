"""X.509 certificates from nothing but arithmetic, for servers whose certificates are wrong on purpose.

A self-signed certificate over P-256 with ECDSA and SHA-256 (RFC 5280, RFC 5480, SEC 1), written as DER by
hand. The key is drawn from a seed, so the same question gives the same certificate. Good for test servers and
for nothing else: the arithmetic is plain and slow, and the keys are no secret.
"""

import hashlib
import ipaddress
from base64 import encodebytes
from datetime import UTC, datetime

from lycosa.sim.dice import Dice

_P = 0xFFFFFFFF00000001000000000000000000000000FFFFFFFFFFFFFFFFFFFFFFFF
_N = 0xFFFFFFFF00000000FFFFFFFFFFFFFFFFBCE6FAADA7179E84F3B9CAC2FC632551
_G = (
    0x6B17D1F2E12C4247F8BCE6E563A440F277037D812DEB33A0F4A13945D898C296,
    0x4FE342E2FE1A7F9B8EE7EB4A7C0F9E162BCE33576B315ECECBB6406837BF51F5,
)
_Point = tuple[int, int] | None  # None is the point at infinity

_INTEGER, _BITS, _OCTETS, _OID, _UTF8, _SEQUENCE, _SET, _TIME = 0x02, 0x03, 0x04, 0x06, 0x0C, 0x30, 0x31, 0x18
_LONG_FORM = 0x80
_ECDSA_SHA256 = bytes.fromhex("2a8648ce3d040302")
_EC_KEY = bytes.fromhex("2a8648ce3d0201")
_P256 = bytes.fromhex("2a8648ce3d030107")
_COMMON_NAME = bytes.fromhex("550403")
_ALT_NAME = bytes.fromhex("551d11")


def make_certificate(name: str, start: datetime, end: datetime) -> str:
    """Private key and certificate as PEM; the name is an IP address or a DNS name."""
    secret = int.from_bytes(Dice("certificate").stretch(40, name), "big") % (_N - 1) + 1
    public = _write_point(_multiply(secret, _G))
    algorithm = _tlv(_SEQUENCE, _tlv(_OID, _ECDSA_SHA256))
    who = _tlv(_SEQUENCE, _tlv(_SET, _tlv(_SEQUENCE, _tlv(_OID, _COMMON_NAME), _tlv(_UTF8, name.encode()))))
    body = _tlv(
        _SEQUENCE,
        _tlv(0xA0, _number(2)),
        _number(secret % 2**60),
        algorithm,
        who,
        _tlv(_SEQUENCE, _write_time(start), _write_time(end)),
        who,
        _tlv(_SEQUENCE, _tlv(_SEQUENCE, _tlv(_OID, _EC_KEY), _tlv(_OID, _P256)), _tlv(_BITS, b"\0" + public)),
        _tlv(0xA3, _tlv(_SEQUENCE, _alt_name(name))),
    )
    signature = _tlv(_BITS, b"\0" + _sign(secret, body))
    key = _tlv(
        _SEQUENCE,
        _number(1),
        _tlv(_OCTETS, secret.to_bytes(32, "big")),
        _tlv(0xA0, _tlv(_OID, _P256)),
        _tlv(0xA1, _tlv(_BITS, b"\0" + public)),
    )
    return _pem("EC PRIVATE KEY", key) + _pem("CERTIFICATE", _tlv(_SEQUENCE, body, algorithm, signature))


def _alt_name(name: str) -> bytes:
    try:
        written = _tlv(0x87, ipaddress.ip_address(name).packed)
    except ValueError:
        written = _tlv(0x82, name.encode())
    return _tlv(_SEQUENCE, _tlv(_OID, _ALT_NAME), _tlv(_OCTETS, _tlv(_SEQUENCE, written)))


def _sign(secret: int, message: bytes) -> bytes:
    digest = hashlib.sha256(message).digest()
    # A nonce derived from key and message: never the same for two messages, which would give the key away.
    nonce = int.from_bytes(hashlib.sha512(secret.to_bytes(32, "big") + digest).digest(), "big") % (_N - 1) + 1
    point = _multiply(nonce, _G)
    r = point[0] % _N if point else 0
    s = pow(nonce, -1, _N) * (int.from_bytes(digest, "big") + r * secret) % _N
    return _tlv(_SEQUENCE, _number(r), _number(s))


def _multiply(times: int, point: _Point) -> _Point:
    total: _Point = None
    while times:
        if times & 1:
            total = _add(total, point)
        point, times = _add(point, point), times >> 1
    return total


def _add(one: _Point, other: _Point) -> _Point:
    if one is None or other is None:
        return one or other
    (x1, y1), (x2, y2) = one, other
    if x1 == x2 and (y1 + y2) % _P == 0:
        return None
    slope = (3 * x1 * x1 - 3) * pow(2 * y1, -1, _P) if one == other else (y2 - y1) * pow(x2 - x1, -1, _P)
    x3 = (slope * slope - x1 - x2) % _P
    return x3, (slope * (x1 - x3) - y1) % _P


def _write_point(point: _Point) -> bytes:
    x, y = point or (0, 0)
    return b"\x04" + x.to_bytes(32, "big") + y.to_bytes(32, "big")


def _write_time(at: datetime) -> bytes:
    return _tlv(_TIME, at.astimezone(UTC).strftime("%Y%m%d%H%M%SZ").encode())


def _number(value: int) -> bytes:
    return _tlv(_INTEGER, value.to_bytes(value.bit_length() // 8 + 1, "big"))


def _tlv(tag: int, *parts: bytes) -> bytes:
    content = b"".join(parts)
    size = len(content)
    if size < _LONG_FORM:
        return bytes((tag, size)) + content
    length = size.to_bytes((size.bit_length() + 7) // 8, "big")
    return bytes((tag, _LONG_FORM | len(length))) + length + content


def _pem(label: str, der: bytes) -> str:
    return f"-----BEGIN {label}-----\n{encodebytes(der).decode()}-----END {label}-----\n"

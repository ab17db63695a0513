"""What the errors of libcurl mean to a crawler.

libcurl uses a few numbers for many things: one of them stands for a reset connection and for chunks that make no
sense. The error of the system and whether anything was received tell them apart. Every number gives a kind; those
nobody thought of are `protocol`, which is tried again like any passing fault.
"""

from __future__ import annotations

import errno

import pycurl

from lycosa.errors import LycosaError

_WEIRD_REPLY, _HTTP2_STREAM, _SSL_CLIENT_CERT, _TOO_LARGE = 8, 92, 98, 100  # pycurl has no names for these
_CONNECT = {
    errno.ECONNREFUSED: "connect.refused",
    errno.ETIMEDOUT: "connect.timeout",
    errno.EHOSTUNREACH: "connect.unreachable",
    errno.ENETUNREACH: "connect.unreachable",
    errno.EADDRNOTAVAIL: "connect.unreachable",
    errno.EAFNOSUPPORT: "connect.unreachable",
    errno.EACCES: "connect.unreachable",
    errno.EPERM: "connect.unreachable",
}
_CUT = frozenset((errno.ECONNRESET, errno.ECONNABORTED, errno.EPIPE, errno.ETIMEDOUT, errno.ENETRESET, errno.ENOTCONN))
_SIMPLE = {
    pycurl.E_OPERATION_TIMEDOUT: "timeout.total",
    pycurl.E_PEER_FAILED_VERIFICATION: "tls.certificate",
    pycurl.E_SSL_ISSUER_ERROR: "tls.certificate",
    pycurl.E_SSL_INVALIDCERTSTATUS: "tls.certificate",
    pycurl.E_SSL_CIPHER: "tls.handshake",
    _SSL_CLIENT_CERT: "tls.handshake",
    pycurl.E_PARTIAL_FILE: "closed.early",
    _TOO_LARGE: "headers.too_large",
    pycurl.E_URL_MALFORMAT: "url.unusable",
}
_OURS = frozenset(
    (pycurl.E_SSL_CACERT_BADFILE, pycurl.E_FAILED_INIT, pycurl.E_OUT_OF_MEMORY, pycurl.E_BAD_FUNCTION_ARGUMENT)
)


def kind_of(code: int, said: str, system_error: int, *, head_came: bool) -> str:
    """The kind of trouble; raises when the fault is on our side."""
    if code in _SIMPLE:
        return _SIMPLE[code]
    if code == pycurl.E_COULDNT_CONNECT:
        return _CONNECT.get(system_error, "connect.unreachable")
    if code == pycurl.E_SSL_CONNECT_ERROR:
        # Overloaded servers hang up during the handshake; that passes, other disagreements stay.
        is_cut = system_error in _CUT or "SYSCALL" in said or "unexpected eof" in said
        return "closed.empty" if is_cut else "tls.handshake"
    if code in (pycurl.E_GOT_NOTHING, pycurl.E_SEND_ERROR):
        return "closed.early" if head_came else "closed.empty"
    if code == pycurl.E_RECV_ERROR and (system_error in _CUT or "reset" in said.lower()):
        return "closed.early" if head_came else "closed.empty"
    if code in _OURS:
        raise LycosaError(f"libcurl cannot work here ({said}): check the file of trusted certificates and the memory.")
    return "protocol"

"""Listening sockets on loopback addresses, all at one port; anything but 127.0.0.0/8 is refused."""

import errno
import ipaddress
import socket
from collections.abc import Sequence

from lycosa.errors import LycosaError

MOST_ADDRESSES = 8192
_TRIES = 50
_LOOPBACK = ipaddress.ip_network("127.0.0.0/8")


def listen_all(addresses: Sequence[str], port: int = 0) -> tuple[list[socket.socket], int]:
    """One socket an address, in order, and the port; port 0 finds one that is free on all of them."""
    for address in addresses:
        _check(address)
    if len(addresses) > MOST_ADDRESSES:
        raise LycosaError(f"{len(addresses)} addresses at once: serve at most {MOST_ADDRESSES} hosts of the world.")
    for _ in range(1 if port else _TRIES):
        sockets: list[socket.socket] = []
        chosen = port
        try:
            for address in addresses:
                sockets.append(_listen(address, chosen))
                chosen = sockets[-1].getsockname()[1]
            return sockets, chosen
        except OSError as failure:
            for opened in sockets:
                opened.close()
            if failure.errno != errno.EADDRINUSE:
                raise LycosaError(f"Cannot listen on loopback addresses: {failure}.") from failure
    raise LycosaError(f"Port {port or '(any)'} is taken on one of the addresses: give another port.")


def _listen(address: str, port: int) -> socket.socket:
    listener = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        listener.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listener.bind((address, port))
        listener.listen(1024)
        listener.setblocking(False)
    except OSError:
        listener.close()
        raise
    return listener


def _check(address: str) -> None:
    try:
        inside = ipaddress.ip_address(address) in _LOOPBACK
    except ValueError:
        inside = False
    if not inside:
        raise LycosaError(f"{address} is not a loopback address: a simulated server listens on 127.0.0.0/8 only.")

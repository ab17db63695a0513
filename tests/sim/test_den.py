"""The den: TLS beasts, the canary, and the bounds that no beast can break."""

import asyncio
import ssl

import pytest

from lycosa.errors import LycosaError
from lycosa.sim.bestiary import BEASTS, Beast, Den, Pace, unleash
from lycosa.sim.bestiary.den import CANARY

BY_NAME = {beast.name: beast for beast in BEASTS}
QUICK = Pace(drip_s=0.0005, breath_s=0.0, silence_s=0.02, cap_bytes=100_000, bomb_bytes=1 << 20)


async def shake_hands(den: Den, name: str, context: ssl.SSLContext) -> tuple[bytes, str | None, bytes]:
    """First bytes said, the protocol agreed on, and the certificate shown."""
    reader, writer = await asyncio.open_connection(den.addresses[name], den.port, ssl=context)
    writer.write(b"GET / HTTP/1.1\r\nHost: x\r\n\r\n")
    said = await reader.readexactly(40)
    shown = writer.get_extra_info("ssl_object")
    agreed, certificate = shown.selected_alpn_protocol(), shown.getpeercert(binary_form=True)
    writer.transport.abort()
    return said, agreed, certificate


def careless() -> ssl.SSLContext:
    context = ssl.create_default_context()
    context.check_hostname, context.verify_mode = False, ssl.CERT_NONE
    return context


@pytest.mark.parametrize(
    ("name", "complaint"),
    [("self-signed", None), ("expired", "expired"), ("wrong-host", "not valid for")],
)
def test_certificates_are_wrong_in_the_way_they_say(name: str, complaint: str | None) -> None:
    async def run() -> None:
        async with unleash([BY_NAME[name]], pace=QUICK) as den:
            assert den.url(name).startswith("https://127.0.40.1:")
            with pytest.raises(ssl.SSLCertVerificationError):
                await shake_hands(den, name, ssl.create_default_context())
            said, _, certificate = await shake_hands(den, name, careless())
            assert said.startswith(b"HTTP/1.1 200 ")
            # Trusting the certificate itself leaves only the other fault.
            trusting = ssl.create_default_context(cadata=ssl.DER_cert_to_PEM_cert(certificate))
            if complaint is None:
                assert (await shake_hands(den, name, trusting))[0].startswith(b"HTTP/1.1 200 ")
            else:
                with pytest.raises(ssl.SSLCertVerificationError, match=complaint):
                    await shake_hands(den, name, trusting)

    asyncio.run(run())


def test_old_tls_cannot_be_agreed_on() -> None:
    async def run() -> None:
        async with unleash([BY_NAME["tls10-only"]], pace=QUICK) as den:
            with pytest.raises(ssl.SSLError, match=r"(?i)unsupported.protocol"):
                await shake_hands(den, "tls10-only", careless())

    asyncio.run(run())


def test_http_2_is_agreed_on_and_then_broken() -> None:
    async def run() -> None:
        async with unleash([BY_NAME["alpn-h2-junk"], BY_NAME["h2-bomb"]], pace=QUICK) as den:
            context = careless()
            context.set_alpn_protocols(["h2", "http/1.1"])
            said, agreed, _ = await shake_hands(den, "alpn-h2-junk", context)
            assert (agreed, said[:9]) == ("h2", b"HTTP/1.1 ")
            said, agreed, _ = await shake_hands(den, "h2-bomb", context)
            assert agreed == "h2"
            assert said[3] == 4  # SETTINGS
            assert (said[12], said[13] & 4) == (1, 0)  # HEADERS without END_HEADERS
            assert (said[22], said[23] & 4) == (9, 0)  # CONTINUATION, and still no end

    asyncio.run(run())


ENDLESS = {
    **dict.fromkeys(("slow-headers", "slow-body", "endless-chunked", "endless-close"), "/"),
    **dict.fromkeys(("chunk-ext-bomb", "chunk-trailer-bomb", "1xx-many", "header-bomb-endless"), "/"),
    "huge": "/robots.txt",
}
PATIENT = Pace(drip_s=0.001, breath_s=0.001, silence_s=3_600, cap_bytes=1 << 40)


@pytest.mark.parametrize("name", ENDLESS)
def test_an_endless_beast_stops_when_its_client_leaves(name: str) -> None:
    async def run() -> None:
        async with unleash([BY_NAME[name]], pace=PATIENT) as den:
            reader, writer = await asyncio.open_connection(den.addresses[name], den.port)
            writer.write(f"GET {ENDLESS[name]} HTTP/1.1\r\n\r\n".encode())
            await reader.readexactly(10)
            writer.transport.abort()
            async with asyncio.timeout(10):
                await den.quiet()
            assert den.wires == set()

    asyncio.run(run())


def test_a_silent_beast_stops_when_its_client_leaves() -> None:
    async def run() -> None:
        async with unleash([BY_NAME["slow"]], pace=PATIENT) as den:
            address = den.addresses["slow"]
            _, silent = await asyncio.open_connection(address, den.port)
            silent.write(b"GET /robots.txt HTTP/1.1\r\n\r\n")
            # An answer to somebody who came later shows that the silent one has been heard.
            reader, writer = await asyncio.open_connection(address, den.port)
            writer.write(b"GET / HTTP/1.1\r\n\r\n")
            await reader.readexactly(10)
            assert den.requests("slow") == 2
            for leaving in (silent, writer):
                leaving.transport.abort()
            async with asyncio.timeout(10):
                await den.quiet()
            assert den.wires == set()

    asyncio.run(run())


def test_the_cap_ends_what_the_client_would_read_for_ever() -> None:
    async def run() -> None:
        async with unleash([BY_NAME["endless-close"]], pace=QUICK) as den:
            reader, writer = await asyncio.open_connection(den.addresses["endless-close"], den.port)
            writer.write(b"GET / HTTP/1.1\r\n\r\n")
            assert QUICK.cap_bytes <= len(await reader.read()) < QUICK.cap_bytes + 20_000
            writer.close()

    asyncio.run(run())


def test_nothing_listens_and_nobody_is_connected_after_the_end() -> None:
    async def run() -> None:
        talkers = [beast for beast in BEASTS if beast.scheme == "http"]
        async with unleash(talkers, pace=Pace(cap_bytes=1 << 40)) as den:
            open_ones = []
            for name in den.addresses:
                reader, writer = await asyncio.open_connection(den.addresses[name], den.port)
                writer.write(b"GET / HTTP/1.1\r\n\r\n")
                open_ones.append((reader, writer))
            await open_ones[0][0].readexactly(10)
        assert den.wires == set()
        for _, writer in open_ones:
            writer.transport.abort()
        for address in den.addresses.values():
            with pytest.raises(ConnectionRefusedError):
                await asyncio.open_connection(address, den.port)

    asyncio.run(run())


def test_the_canary_notes_who_comes_and_forbids_everything() -> None:
    async def run() -> None:
        async with unleash([], pace=QUICK) as den:
            reader, writer = await asyncio.open_connection(den.canary_address, den.port)
            writer.write(b"GET /robots.txt HTTP/1.1\r\n\r\n")
            assert b"404" not in await reader.readuntil(b"Disallow: /\n")
            writer.close()
            assert (den.canary_connections, den.canary_targets) == (1, ["/robots.txt"])
            assert den.url("canary").endswith(f":{den.port}/")

    asyncio.run(run())


def test_beasts_live_at_addresses_in_order() -> None:
    async def run() -> None:
        chosen: list[Beast] = [BY_NAME["bare-lf"], BY_NAME["ce-lie"]]
        async with unleash(chosen, first_address="127.0.45.254") as den:
            assert list(den.addresses.values()) == ["127.0.45.254", "127.0.45.255", "127.0.46.0"]
            assert den.url("ce-lie", "/x") == f"http://127.0.45.255:{den.port}/x"
            with pytest.raises(LycosaError, match="unleash it first"):
                den.url("gzip-bomb")

    asyncio.run(run())


def test_a_den_cannot_be_opened_beyond_loopback() -> None:
    async def run() -> None:
        async with unleash([CANARY], first_address="10.0.0.1"):
            pass

    with pytest.raises(LycosaError, match="loopback"):
        asyncio.run(run())

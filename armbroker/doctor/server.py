"""What the MQTT server is: reached, proved by its certificate, closed to strangers, able to do what is needed."""

import asyncio
import contextlib
import datetime as dt
import re
import ssl
import tempfile
from pathlib import Path

from armbroker.doctor.findings import Finding, failed, passed, unchecked
from armbroker.doctor.links import Who, connected, token, until
from broker.link.mqtt5_link import Mqtt5Link
from broker.link.mqtt_link import UNTOLD_MAX_PACKET, LinkError
from broker.server_url import parse_server_url
from broker.tls import TlsFileError, TlsFiles, tls_context
from broker.topics import Topics

OLDEST = (2, 0, 11)
WARN_DAYS = 14
VERSION_TOPIC = "$SYS/broker/version"
VERSION_S = 1.0
HANDSHAKE_S = 10.0
LEAST_RECEIVE = 10
_MOSQUITTO = re.compile(r"mosquitto version (\d+)\.(\d+)\.(\d+)")


async def certificate(who: Who, now: dt.datetime) -> Finding:
    """Whether the MQTT server's certificate is of a trusted authority, for its name, and lasts."""
    address = parse_server_url(who.url)
    if not address.tls:
        return unchecked("certificate", f"{who.url}: no TLS")
    try:
        async with asyncio.timeout(HANDSHAKE_S):
            _, writer = await asyncio.open_connection(address.host, address.port, ssl=tls_context(who.tls))
    except (OSError, TlsFileError) as error:
        return failed("certificate", f"{who.url}: {error or 'no answer'}")
    until_s = ssl.cert_time_to_seconds(writer.get_extra_info("peercert")["notAfter"])
    writer.transport.abort()
    days = (until_s - now.timestamp()) / 86_400
    text = f"{who.url}: trusted, for {days:.0f} more days"
    return passed("certificate", text) if days >= WARN_DAYS else failed("certificate", text)


async def connection(who: Who, topics: Topics) -> tuple[list[Finding], bool]:
    """Whether the service's account gets in, and what the MQTT server says it can do; whether it is worth going on."""
    try:
        async with connected(who, token(), [topics.service("+"), VERSION_TOPIC], retained=True) as link:
            let_in = passed("connection", f"{who.url}: user {who.user or '-'} is let in")
            return [let_in, *_abilities(link), await _version(link)], True
    except (LinkError, TlsFileError) as error:
        return [failed("connection", str(error))], False


def _abilities(link: Mqtt5Link) -> list[Finding]:
    told = link.connack
    if told is None:
        return []
    lacking = [
        *([f"QoS {told.max_qos} at most"] if told.max_qos < 1 else []),
        *([] if told.retain else ["retains nothing"]),
        *([f"{told.receive_maximum} messages at once"] if told.receive_maximum < LEAST_RECEIVE else []),
    ]
    able = failed("limits", "; ".join(lacking)) if lacking else passed("limits", "QoS 1, retained messages")
    size = told.max_packet
    text = f"{size:,} bytes, {UNTOLD_MAX_PACKET:,} wanted" if size else "no bound told"
    sized = failed("packet-size", text) if 0 < size < UNTOLD_MAX_PACKET else passed("packet-size", text)
    return [able, sized]


async def _version(link: Mqtt5Link) -> Finding:
    found: list[str] = []

    def is_version(topic: str, payload: bytes) -> bool:
        if topic == VERSION_TOPIC:
            found.append(payload.decode(errors="replace"))
        return bool(found)

    await until(link, lambda message: is_version(message.topic, message.payload), lambda _: None, VERSION_S)
    return version_finding(found[0] if found else "")


def version_finding(text: str) -> Finding:
    """What a version in `$SYS/broker/version` says."""
    match = _MOSQUITTO.match(text)
    if match is None:
        return unchecked("server-version", f"told as {text[:80]!r}" if text else "not told to the service's user")
    version = tuple(map(int, match.groups()))
    return passed("server-version", text) if version >= OLDEST else failed("server-version", text)


async def nobody(who: Who) -> Finding:
    """Whether somebody without user, password and certificate is let in."""
    stranger = Who(who.url, "", "", TlsFiles(who.tls.ca))
    return await _kept_out("nobody", stranger, "without user and password")


async def foreign_certificate(who: Who, now: dt.datetime) -> Finding:
    """Whether a certificate of an authority that was made a moment ago lets in."""
    if not parse_server_url(who.url).tls:
        return unchecked("foreign-certificate", f"{who.url}: no TLS")
    try:
        from armbroker.certificates import Wanted, make  # noqa: PLC0415 - cryptography, an extra
    except ImportError:
        return unchecked("foreign-certificate", "needs pip install 'armbroker[certs]'")
    with tempfile.TemporaryDirectory(prefix="armbroker-doctor-") as folder:
        name = who.user if re.fullmatch(r"[A-Za-z0-9._-]+", who.user) else "svc"
        make(Path(folder), Wanted((), (name,), 1), now)
        stem = Path(folder) / "clients" / name
        files = TlsFiles(who.tls.ca, stem.with_name(f"{name}.crt"), stem.with_name(f"{name}.key"))
        return await _kept_out("foreign-certificate", Who(who.url, "", "", files), f"as {name} of a foreign authority")


async def _kept_out(check: str, stranger: Who, how: str) -> Finding:
    with contextlib.suppress(LinkError):
        async with connected(stranger, token(), ["doctor"]):
            return failed(check, f"{stranger.url}: lets in {how}")
    return passed(check, f"{stranger.url}: keeps out {how}")

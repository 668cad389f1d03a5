"""Waiting for an MQTT server that is not there yet: after a power cut it may come up later than the service."""

import asyncio
import contextlib

import structlog

from broker.server_url import parse_server_url
from broker.supervisor import Supervisor

log = structlog.get_logger()

ATTEMPT_S = 5.0
AGAIN_S = 1.0
"""How long an attempt may take, and how long after one that failed the next begins."""
WAIT_S = 30.0
"""Within which time the supervisor is told again that the server is waited for."""
REMIND_S = 60.0
"""How often it is said again that the server is waited for."""


class Server:
    """The MQTT server of an address; `supervisor` hears that it is waited for."""

    def __init__(self, url: str, supervisor: Supervisor) -> None:
        self._url, self._supervisor = url, supervisor
        self._address = parse_server_url(url)

    async def there(self, stop: asyncio.Event) -> None:
        """Return once something listens there, or at `stop`; what is waited for is said at once."""
        loop = asyncio.get_running_loop()
        told_s: float | None = None
        while not stop.is_set() and (why := await self._missing()):
            self._supervisor.waits(f"waiting for the MQTT server {self._url}: {why}", WAIT_S)
            if told_s is None or loop.time() - told_s >= REMIND_S:
                told_s = loop.time()
                log.warning("waiting_for_mqtt_server", url=self._url, why=why)
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(AGAIN_S):
                    await stop.wait()

    async def _missing(self) -> str:
        """Why nobody can be connected to; empty if somebody listens."""
        host, port = self._address.host, self._address.port
        try:
            async with asyncio.timeout(ATTEMPT_S):
                _, writer = await asyncio.open_connection(host, port)
        except TimeoutError:
            return "no answer in time"
        except OSError as error:
            return str(error)
        writer.close()
        with contextlib.suppress(OSError):
            await writer.wait_closed()
        return ""

"""Asks by MQTT whether a service is there."""

import asyncio
import secrets

from armbroker.cli.exits import Exit
from armbroker.client.services import judged
from broker.link.clients import make_link
from broker.link.mqtt_link import LinkConfig, LinkConfigError, LinkError
from broker.presence.document import read_document
from broker.settings import Settings
from broker.settings.password import Password
from broker.topics import Topics


def ask(settings: Settings, timeout_s: float) -> tuple[Exit, str]:
    """The exit code, and what is to be said."""
    try:
        return asyncio.run(_ask(settings, timeout_s))
    except LinkConfigError as error:
        return Exit.USAGE, str(error)
    except LinkError as error:
        return Exit.NO_SERVER, str(error)


async def _ask(settings: Settings, timeout_s: float) -> tuple[Exit, str]:
    mqtt, topic = settings.mqtt, Topics(settings.root).service(settings.instance)
    link = make_link(
        LinkConfig(
            url=mqtt.url,
            client_id=f"{mqtt.client_id or 'armbroker'}-health-{secrets.token_hex(4)}",
            filters=(topic,),
            user=mqtt.user,
            read_password=Password(settings),
            tls=settings.tls,
            session_expiry_s=0,
            retained=True,
            client=mqtt.client,
            first_connection_s=timeout_s / 2,
        )
    )
    try:
        await link.open()
        async with asyncio.timeout(timeout_s / 2):
            async for message in link.messages():
                document = read_document(message.payload)
                if document is not None:
                    seen = judged(settings.instance, document)
                    return (Exit.OK if seen.online else Exit.REFUSED), seen.text
    except TimeoutError:
        pass
    finally:
        await link.close()
    return Exit.REFUSED, f"nothing is retained on {topic}: no service {settings.instance} was ever here"

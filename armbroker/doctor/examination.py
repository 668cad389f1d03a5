"""All checks, in an order that never asks a user for two connections at once."""

import asyncio
import datetime as dt
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path

from armbroker.doctor import local, server, service
from armbroker.doctor.access import Access, usable_conn
from armbroker.doctor.findings import CHECKS, Finding, failed, unchecked
from armbroker.doctor.links import Who
from broker.link.mqtt_link import LinkError
from broker.settings import Settings, SettingsError
from broker.topics import Topics

NEEDS_USER = "needs an ordinary user: --user and what proves it"
OF_A_USER = ("round-trip", "spoofed-user", "service-topics", "foreign-replies", "wildcard-reader", "client-ids")


def machine_us() -> int:
    """µs since 1970."""
    return time.time_ns() // 1000


async def examine(
    config: Path, ordinary: Callable[[Settings], Who | None], now_us: Callable[[], int] = machine_us
) -> AsyncIterator[Finding]:
    """Each finding as it comes; `ordinary` is the user that the rules are tried with, None for none."""
    settings, finding = local.read_settings(config, now_us())
    yield finding
    if settings is None:
        for check in list(CHECKS)[1:]:
            yield unchecked(check, "the settings cannot be used")
        return
    yield local.secret_files(settings)
    yield local.disk(settings)
    yield local.encryption(settings)
    try:
        who = Who(settings.mqtt.url, settings.mqtt.user, settings.password(), settings.tls)
    except SettingsError as error:
        yield failed("connection", str(error))
        return
    now, topics = dt.datetime.fromtimestamp(now_us() / 1e6, dt.UTC), Topics(settings.root)
    yield await server.certificate(who, now)
    findings, reached = await server.connection(who, topics)
    for each in findings:
        yield each
    if not reached:
        for check in list(CHECKS)[list(CHECKS).index("nobody") :]:
            if check not in {each.check for each in findings}:
                yield unchecked(check, "the MQTT server was not reached as the service's user")
        return
    listening = asyncio.create_task(service.listen(who, topics, now_us))
    try:
        yield await server.nobody(who)
        yield await server.foreign_certificate(who, now)
        async for each in _of_user(ordinary(settings), who, topics, settings):
            yield each
        yield await service.retained_ghosts(who, topics, settings, now_us)
        for each in service.judge(await listening, settings.instance):
            yield each
    finally:
        listening.cancel()
        await asyncio.wait([listening])


async def _of_user(user: Who | None, who: Who, topics: Topics, settings: Settings) -> AsyncIterator[Finding]:
    """The checks that an ordinary user is needed for."""
    if user is None:
        for check in OF_A_USER:
            yield unchecked(check, NEEDS_USER)
        return
    try:
        conn = await usable_conn(topics, user)
    except LinkError as error:
        yield failed("round-trip", str(error))
        for check in OF_A_USER[1:]:
            yield unchecked(check, f"user {user.user} is not let in")
        return
    yield await service.round_trip(user, topics, conn or user.user, settings)
    access = Access(topics, user, who, conn or user.user)
    for check, work in (
        ("spoofed-user", access.spoofed_user),
        ("service-topics", access.service_topics),
        ("foreign-replies", access.foreign_replies),
        ("wildcard-reader", access.wildcard_reader),
        ("client-ids", lambda: access.client_ids(settings.mqtt.client_id)),
    ):
        try:
            yield await work()
        except LinkError as error:
            yield unchecked(check, str(error))

"""Keeps a board up to date over MQTT, and asks what documents do not tell; it only ever reads."""

import asyncio
import time
from collections.abc import Callable
from typing import Any, NamedTuple

from armbroker.board.board import Board, Change
from armbroker.board.facts import listed
from armbroker.board.history import Point, points_of
from armbroker.board.limits import Layer, layers_of
from armbroker.client import ArmClient, ClientError, NoReplyError
from schema.enums import ControlMode

TICK_S = 1.0
ASK_S = 5.0
"""How long a history may take."""
DEAF_S = 15.0
"""For so long after no answer came, nothing is asked: every history would wait for `ASK_S`."""
PAGE = 500
ASKED_AT_ONCE = 4
"""Histories and layers that are asked for at once; further ones wait."""
NO_MODE = ControlMode.UNSPECIFIED_CONTROL_MODE.name

_DEAF = "the service did not answer: it is away, or this account may send no requests (not even reads)"

Tell = Callable[[list[Change]], None]


class History(NamedTuple):
    """The changes of one value, oldest first; `why` says, where it is not empty, why some are missing."""

    points: list[Point]
    why: str


class Layers(NamedTuple):
    """The layers of one limit, the one that binds marked; `why` says why there are none."""

    layers: list[Layer]
    why: str


class Feed:
    """Follows every arm over a client that is connected; `tell` gets each lot of changes once the board has them."""

    def __init__(self, client: ArmClient, board: Board, tell: Tell) -> None:
        self._client = client
        self._board = board
        self._tell = tell
        self._asking = asyncio.Semaphore(ASKED_AT_ONCE)
        self._deaf_until_s = 0.0

    async def run(self) -> None:
        """Follow until cancelled.

        Raises:
            NoServerError: the connection ended for good, or the MQTT server does not let us read.
        """
        ticking = asyncio.create_task(self._tick())
        try:
            async with self._client.watch(fetch=False) as watched:
                async for each in watched:
                    self._say(self._board.take(each, time.monotonic(), time.time()))
        finally:
            ticking.cancel()

    async def history(self, arm: str, item: str, slot: str, path: str) -> History:
        """The history of a value as the service tells it; where it does not, what was seen of it."""
        try:
            result = await self._ask(arm, "GetHistory", {"item": item, "limit": PAGE})
        except ClientError as error:
            return self._seen(arm, item, slot, path, _why(error))
        changes = _tables(result.get("changes"))
        more = f"only the last {len(changes)} changes of {item} are shown" if result.get("more") else ""
        return History(points_of(changes, item, slot, path), more)

    async def layers(self, arm: str, quantity: str, joint: str, mode: str) -> Layers:
        """What every layer says about one limit; `mode` is empty for the tightest over all."""
        params = {"quantity": quantity, "mode": mode or NO_MODE, **({"joint": joint} if joint else {})}
        try:
            result = await self._ask(arm, "Explain", params)
        except ClientError as error:
            return Layers([], _why(error))
        return Layers(layers_of(_tables(result.get("numbers"))), "")

    async def _ask(self, arm: str, method: str, params: dict[str, Any]) -> dict[str, Any]:
        """The result of a read.

        Raises:
            ClientError: there is none; soon after a NoReplyError nothing is asked.
        """
        async with self._asking:
            if time.monotonic() < self._deaf_until_s:
                raise ClientError(_DEAF)
            try:
                return (await self._client.call(arm, method, params, timeout=ASK_S))["result"]
            except NoReplyError:
                self._deaf_until_s = time.monotonic() + DEAF_S
                raise

    def _seen(self, arm: str, item: str, slot: str, path: str, why: str) -> History:
        """What was seen of a value, where the service does not tell it."""
        seen = [
            {"at": line.at, "item": line.item, "slot": line.slot, "before": line.before, "after": line.after}
            | {"by": line.by, "reason": line.reason, "cause": line.cause}
            for line in self._board.events
            if line.arm == arm
        ]
        return History(points_of(seen, item, slot, path), f"{why}; shown is what was seen since this screen began")

    async def _tick(self) -> None:
        while True:
            await asyncio.sleep(TICK_S)
            self._say(self._board.tick(time.monotonic(), connected=self._client.connected))

    def _say(self, changes: list[Change]) -> None:
        if changes:
            self._tell(changes)


def _why(error: ClientError) -> str:
    """Why there is no result, in words."""
    return _DEAF if isinstance(error, NoReplyError) else str(error)


def _tables(value: object) -> list[dict[str, Any]]:
    return [each for each in listed(value) if isinstance(each, dict)]

"""What the script plays on: it sends, prints, and checks what came."""

import asyncio
from collections.abc import AsyncIterator
from typing import Any

from armbroker.client import ArmClient, ClientError, NotDoneError, ReplyDocument, RequestOptions, Watched, WatchedEvent
from armbroker.demo.screen import Screen

REPLY_S = 15.0
EVENT_S = 10.0


class StoryError(Exception):
    """A step did not give what it should."""


class Stage:
    """A client whose requests, replies and events are printed.

    Attributes:
        seen: the events, oldest first.
        finished: true once the script is played.
    """

    def __init__(self, client: ArmClient, screen: Screen) -> None:
        self._client = client
        self._news = asyncio.Condition()
        self.screen = screen
        self.seen: list[WatchedEvent] = []
        self.finished = False

    async def follow(self, watched: AsyncIterator[Watched]) -> None:
        """Show and keep the events, for ever; documents pass."""
        async for each in watched:
            if isinstance(each, WatchedEvent):
                self.screen.event(each)
                async with self._news:
                    self.seen.append(each)
                    self._news.notify_all()

    async def send(
        self,
        arm: str,
        method: str,
        params: dict[str, Any] | None = None,
        *,
        id: str | None = None,  # noqa: A002 - the protocol's name of the field
        **options: Any,
    ) -> ReplyDocument:
        """Send a request and return its reply, whatever it says.

        Raises:
            StoryError: no reply.
        """
        fields: RequestOptions = {**options}  # type: ignore[typeddict-item] # the script names them
        self.screen.request(arm, method, params or {}, {**({"id": id} if id else {}), **options})
        try:
            reply = await self._client.call(arm, method, params, timeout=REPLY_S, id=id, **fields)
        except NotDoneError as error:
            reply = error.reply
        except ClientError as error:
            raise StoryError(str(error)) from error
        self.screen.reply(reply)
        return reply

    async def event(self, arm: str, name: str, cause: str) -> dict[str, Any]:
        """Wait for an event, or find the latest of those seen.

        Raises:
            StoryError: it did not come.
        """

        def found() -> dict[str, Any] | None:
            events = (each.event for each in reversed(self.seen) if each.arm == arm)
            return next((event for event in events if (event["event"], event["cause"]) == (name, cause)), None)

        try:
            async with asyncio.timeout(EVENT_S), self._news:
                return await self._news.wait_for(found) or {}
        except TimeoutError:
            raise StoryError(f"no event {name} ({cause}) of {arm} within {EVENT_S:g} s") from None

    def count(self, arm: str, name: str) -> int:
        """How many such events were seen."""
        return sum(1 for each in self.seen if each.arm == arm and each.event["event"] == name)

    async def show_limits(self, arm: str, *modes: str) -> dict[str, dict[str, Any]]:
        """Read and show the limits of some modes (all without); by mode."""
        reply = await self.send(arm, "GetAllKinematicSoftLimits")
        expect("the limits are read", reply["stage"], "read")
        limits = {each["control_mode"]: each for each in reply["result"]["kinematic_limits_list"]}
        for mode in modes or limits:
            self.screen.limits(arm, limits[mode])
        return limits


def expect(what: str, got: object, wanted: object) -> None:
    """Check one thing.

    Raises:
        StoryError: `got` is not `wanted`.
    """
    if got != wanted:
        raise StoryError(f"{what}: {wanted!r} was expected, it is {got!r}")

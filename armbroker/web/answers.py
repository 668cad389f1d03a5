"""What the page asks for beside its stream: the detail of an arm, a history, the layers of a limit, a comparison."""

from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any

import msgspec

from armbroker.board.board import Board
from armbroker.board.detail import detail_of
from armbroker.board.facts import ArmFacts
from armbroker.board.feed import Feed, History, Layers
from armbroker.board.values import compare
from armbroker.web.http import Answer, HttpError, Request

COMPARED = 8
"""Arms that are compared at most."""
QUESTIONS = 16
"""Histories and layers that may be waited for at once, of all pages together."""
_JSON = "application/json"


class Answers:
    """Answers from the board; `feed` reads what the board does not hold."""

    def __init__(self, board: Board, feed: Feed) -> None:
        self._board = board
        self._feed = feed
        self._asking = 0

    async def answer(self, request: Request) -> Answer:
        """The answer to a path below `/api/`.

        Raises:
            HttpError: no such path or arm, or too much is asked.
        """
        match request.path.split("/")[2:]:
            case ["arm", arm]:
                mode = request.one("mode") if "mode" in request.query else None
                return _json(detail_of(self._arm(arm), mode))
            case ["compare"]:
                return _json({"facts": compare([self._arm(arm) for arm in self._picked(request)])})
            case ["history", arm]:
                asked = (request.one("item"), request.one("slot"), request.one("path"))
                return await self._asked(self._feed.history, self._arm(arm).arm, *asked)
            case ["layers", arm]:
                asked = (request.one("quantity"), request.one("joint"), request.one("mode"))
                return await self._asked(self._feed.layers, self._arm(arm).arm, *asked)
        raise HttpError(HTTPStatus.NOT_FOUND, "there is nothing here")

    def _arm(self, arm: str) -> ArmFacts:
        try:
            return self._board.arms[arm]
        except KeyError:
            raise HttpError(HTTPStatus.NOT_FOUND, f"no arm {arm[:64]!r} is known") from None

    def _picked(self, request: Request) -> list[str]:
        picked = request.query.get("arm", [])
        if not 0 < len(picked) <= COMPARED:
            raise HttpError(HTTPStatus.BAD_REQUEST, f"{len(picked)} arms: 1 to {COMPARED} can be compared")
        return picked

    async def _asked(self, ask: Callable[[str, str, str, str], Awaitable[History | Layers]], *what: str) -> Answer:
        """What the service answers, or why it does not."""
        if self._asking >= QUESTIONS:
            raise HttpError(HTTPStatus.SERVICE_UNAVAILABLE, f"{QUESTIONS} questions wait for an answer: try again")
        self._asking += 1
        try:
            return _json((await ask(*what))._asdict())
        finally:
            self._asking -= 1


def _json(document: Any) -> Answer:
    return Answer(msgspec.json.encode(document), _JSON)

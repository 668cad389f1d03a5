"""What the page asks for beside its stream: the detail of an arm, a history, a comparison."""

from http import HTTPStatus
from typing import Any

import msgspec

from armbroker.board.board import Board
from armbroker.board.detail import detail_of
from armbroker.board.facts import ArmFacts
from armbroker.board.feed import Feed
from armbroker.board.values import compare
from armbroker.web.http import Answer, HttpError, Request

COMPARED = 8
"""Arms that are compared at most."""
HISTORIES = 16
"""Histories that may be waited for at once, of all pages together."""
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
                return await self._history(self._arm(arm).arm, request)
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

    async def _history(self, arm: str, request: Request) -> Answer:
        if self._asking >= HISTORIES:
            raise HttpError(HTTPStatus.SERVICE_UNAVAILABLE, f"{HISTORIES} histories are being asked for: try again")
        self._asking += 1
        try:
            history = await self._feed.history(arm, request.one("item"), request.one("slot"), request.one("path"))
        finally:
            self._asking -= 1
        return _json({"points": history.points, "why": history.why})


def _json(document: Any) -> Answer:
    return Answer(msgspec.json.encode(document), _JSON)

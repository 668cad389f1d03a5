"""The recipes of the service: memory, rows and event of a change move together; which one each arm had last."""

from collections.abc import Mapping

import msgspec
import structlog

from broker.arms.arm_session import ArmSession
from broker.arms.jobs import ChangeJob
from broker.record.fleet_events import FleetEvents
from broker.record.ledger import Ledger
from broker.store.meta_keys import RECIPE, RECIPE_FLOOR, RECIPE_TOP
from broker.store.rows import Loaded, RecipeRow
from handlers.rpc.outcome import Answer, RecipeDeletion, RecipeOrder, RecipePut
from handlers.rpc.request import Request
from handlers.state.recipes import Applied, Key, Moved, Recipe, Shelf, key_of
from schema.envelope import Author, Stage
from schema.events import FleetEvent

log = structlog.get_logger()

PUT, DELETED = "put", "deleted"
"""Causes of RECIPE_CHANGED."""


class RecipeBook:
    """Carries out what is decided about recipes; `shelf` is what the handlers read."""

    def __init__(self, ledger: Ledger, events: FleetEvents, loaded: Loaded) -> None:
        self._ledger, self._events = ledger, events
        self._top = int(loaded.meta.get(RECIPE_TOP, "0"))
        floor = int(loaded.meta.get(RECIPE_FLOOR, "0"))
        self.shelf = Shelf(tuple(map(_recipe, loaded.recipes)), floor)
        events.stream.state.recipes = self.shelf
        self.applied = _applied(loaded.meta)
        """The recipe that each arm had last, as far as it is known."""
        for applied in self.applied.values():
            self.shelf.took(None, applied.key)

    def carry_out(self, request: Request, order: RecipeOrder) -> Answer:
        """Do what is ordered, as a part of the batch that is open, and the answer."""
        match order:
            case RecipePut(recipe, unchanged):
                if not unchanged:
                    self._store(self.shelf.put(recipe))
                    self._number(recipe.version)
                    self._tell(request, recipe, PUT)
                return Answer({**recipe.told, "unchanged": unchanged}, Stage.STORED)
            case RecipeDeletion(recipe):
                self._store(self.shelf.delete(recipe.name))
                self._tell(request, recipe, DELETED)
                return Answer({}, Stage.STORED)

    def told(self, label: str) -> dict[str, str | int]:
        """How the reply of a change names the recipe that it brings."""
        name, version = key_of(label)
        recipe = self.shelf.find(name, version)
        return {"name": name, "version": version} if recipe is None else recipe.told

    def applied_by(self, session: ArmSession, job: ChangeJob, label: str) -> None:
        """A change brought a recipe for good, as a part of the batch that is open."""
        (name, version), recipe = key_of(label), self.told(label)
        rev, at_us = job.rev or session.state.rev, self._ledger.clock.now_us()
        self.took(session, Applied(name, version, str(recipe.get("digest", "")), rev, at_us, job.author))

    def took(self, session: ArmSession, applied: Applied | None) -> None:
        """An arm has another recipe as its last one, or none, as a part of the batch that is open."""
        before = self.applied.get(session.arm)
        if before is None and applied is None:
            return
        session.state.applied = applied
        if applied is None:
            self.applied.pop(session.arm, None)
        else:
            self.applied[session.arm] = applied
        text = "" if applied is None else msgspec.json.encode(applied).decode()
        self._ledger.store.batch.set_meta(RECIPE + session.arm, text)
        self._store(self.shelf.took(_key(before), _key(applied)))
        self._store(self.shelf.swept())

    def _store(self, moved: Moved) -> None:
        batch = self._ledger.store.batch
        for name, version in moved.dropped:
            batch.put_recipe(name, version, None)
        for recipe in moved.put:
            batch.put_recipe(recipe.name, recipe.version, _row(recipe))
        if moved.dropped:
            batch.set_meta(RECIPE_FLOOR, str(self.shelf.floor))

    def _number(self, version: int) -> None:
        """Keep the highest number that was ever given."""
        if version > self._top:
            self._top = version
            self._ledger.store.batch.set_meta(RECIPE_TOP, str(version))

    def _tell(self, request: Request, recipe: Recipe, cause: str) -> None:
        self._events.emit(
            FleetEvent.RECIPE_CHANGED, cause=cause, by=request.author, details=dict(recipe.told),
            request_id=request.request_id, reason=request.envelope.reason, trace=request.trace,
        )  # fmt: skip
        log.info("recipe_changed", cause=cause, recipe=recipe.label, by=f"{request.user}/{request.conn}")


def _key(applied: Applied | None) -> Key | None:
    return None if applied is None else applied.key


def _recipe(row: RecipeRow) -> Recipe:
    by = Author(row.user, row.conn, row.proven)
    return Recipe(row.name, row.version, row.body, row.digest, row.note, by, row.at_us, row.listed)


def _row(recipe: Recipe) -> RecipeRow:
    by = recipe.by
    return RecipeRow(
        name=recipe.name, version=recipe.version, body=recipe.body, digest=recipe.digest, note=recipe.note,
        user=by.user, conn=by.connection, proven=by.proven, at_us=recipe.at_us, listed=recipe.listed,
    )  # fmt: skip


def _applied(meta: Mapping[str, str]) -> dict[str, Applied]:
    """What each arm had last, those included that the settings do not name now."""
    return {
        key.removeprefix(RECIPE): msgspec.json.decode(value, type=Applied)
        for key, value in meta.items()
        if key.startswith(RECIPE) and value
    }

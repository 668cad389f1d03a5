"""Answers Diff and Blame: fetches what the sources stand for, and who set what."""

from collections.abc import Callable, Mapping

from broker.arms.arm_session import ArmSession
from broker.record.history_entries import Entry, told_terms
from broker.record.past_values import PastValues
from broker.record.principals import FOREIGN_USER
from broker.store.errors import RowDamagedError
from broker.store.rows import PastChange
from handlers.compare.blame import ADOPTED, Claim, claim_document, claims
from handlers.compare.comparison import Compared, Side, compare, comparison_document
from handlers.compare.views import values_of
from handlers.methods.recipes import of_source
from handlers.rpc.outcome import Answer, BlameQuery, DiffQuery
from handlers.rpc.request import Request
from handlers.rpc.source import LiteralSource, RecipeSource, RevisionSource, Source, ViewSource
from handlers.state.arm_state import ArmState
from handlers.state.limit_sources import SETTINGS_USER
from handlers.state.places import is_at
from handlers.state.provenance import Stamp
from handlers.state.recipes import Shelf
from schema.arms import Slot
from schema.codecs.items_form import VALUE_SLOTS
from schema.codecs.times import format_time
from schema.errors import BrokerError
from schema.messages import Message
from schema.nearest import did_you_mean


class Comparisons:
    """Reads arms, their history and recipes for questions about values; changes nothing."""

    def __init__(
        self, sessions: Mapping[str, ArmSession], past: PastValues, check_read: Callable[[str, Request], None]
    ) -> None:
        self._sessions = sessions
        self._past = past
        self._check_read = check_read

    def answer(self, session: ArmSession, request: Request, query: DiffQuery | BlameQuery) -> Answer:
        """The answer to a Diff or Blame of one arm.

        Raises:
            BrokerError: as `compared`; out_of_limits, internal.
        """
        try:
            if isinstance(query, BlameQuery):
                return self._blame(session.state, query)
            return Answer(comparison_document(self.compared(session, request, query)))
        except RowDamagedError as error:
            raise BrokerError("internal", f"{error}. Restore the store from a backup.") from error

    def compared(self, session: ArmSession, request: Request, query: DiffQuery) -> Compared:
        """What two sources say differently of an arm.

        Raises:
            BrokerError: unknown_arm, not_permitted, arm_not_read, unknown_recipe, out_of_limits, internal.
        """
        base = self._side(session, request, query.base, query, "params.from")
        target = self._side(session, request, query.target, query, "params.to")
        return compare(base, target, query.slots, session.state.resolution_rad)

    def check(self, request: Request, query: DiffQuery, shelf: Shelf) -> None:
        """Refuse a comparison with what is not there, whatever arm it is of.

        Raises:
            BrokerError: unknown_arm, not_permitted, unknown_recipe.
        """
        for source, path in ((query.base, "params.from"), (query.target, "params.to")):
            if isinstance(source, RecipeSource):
                of_source(shelf, source)
            elif not isinstance(source, LiteralSource) and source.arm:
                self._named(request, source.arm, path)

    def values(self, request: Request, source: ViewSource | RevisionSource, path: str) -> Mapping[Slot, Message]:
        """The values of a named arm, as it is or was.

        Raises:
            BrokerError: unknown_arm, not_permitted, arm_not_read, out_of_limits, internal.
        """
        state = self._named(request, source.arm, path)
        if isinstance(source, ViewSource):
            return values_of(state, source.view)
        try:
            return self._past.at(state, source.rev, VALUE_SLOTS, f"{path}.rev")
        except RowDamagedError as error:
            raise BrokerError("internal", f"{error}. Restore the store from a backup.") from error

    def _side(self, session: ArmSession, request: Request, source: Source, query: DiffQuery, path: str) -> Side:
        """The values of a source."""
        if isinstance(source, LiteralSource):
            return Side(source.values, partial=True)
        if isinstance(source, RecipeSource):
            return Side(of_source(session.state.recipes, source).values, partial=True)
        state = self._arm(session, request, source.arm, path)
        if isinstance(source, RevisionSource):
            return Side(self._past.at(state, source.rev, query.slots or VALUE_SLOTS, f"{path}.rev"))
        return Side(values_of(state, source.view))

    def _arm(self, session: ArmSession, request: Request, arm: str, path: str) -> ArmState:
        """The state of the arm that a source names, else of the one addressed."""
        return session.state if arm in ("", session.arm) else self._named(request, arm, path)

    def _named(self, request: Request, arm: str, path: str) -> ArmState:
        self._check_read(arm, request)
        found = self._sessions.get(arm)
        if found is None:
            text = f"{path}.arm: no arm {arm[:64]!r}{did_you_mean(arm, self._sessions)}"
            raise BrokerError("unknown_arm", text)
        return found.state

    def _blame(self, state: ArmState, query: BlameQuery) -> Answer:
        """Each value in force, or its parts, with the change that set it."""
        values: list[Entry] = []
        for slot in VALUE_SLOTS:
            if slot not in state.reported or (query.slots is not None and slot not in query.slots):
                continue
            found = claims(state, slot)
            changes = self._past.set_by(state, slot, [claim.stamp for claim in found])
            values += [self._claimed(state, claim, changes.get(claim.stamp)) for claim in found]
        return Answer({"values": values})

    def _claimed(self, state: ArmState, claim: Claim, change: PastChange | None) -> Entry:
        if change is None:
            return self._unclaimed(state, claim, claim.stamp)
        told: Entry = {"method": change.method}
        told |= {name: text for name in ("reason", "request_id") if (text := getattr(change, name))}
        if change.terms is not None:
            told |= told_terms(change.terms)
            told.pop("returned_from", None)
            told.pop("until", None)  # it may have another end by now, or none
        over = None if state.overrides is None else state.overrides.find(change.rev)
        if over is not None and any(is_at(place, claim.slot, claim.part) for place in over.values):
            told["until"] = format_time(over.until_us)
        by = _author(change.user, change.conn)
        return claim_document(claim, change.rev, change.settled_at_us or change.at_us, by, told)

    def _unclaimed(self, state: ArmState, claim: Claim, stamp: Stamp) -> Entry:
        """Of a value of which no change is stored: of the adoption, too new to be stored, or too old to be kept."""
        slot = claim.slot
        last = state.last_rev.get(slot, 0)
        newest = stamp.by == FOREIGN_USER and last != state.desired_rev.get(slot, 0) and not claim.part
        if newest or stamp.by not in ("", SETTINGS_USER, FOREIGN_USER):
            return claim_document(claim, last, stamp.at_us, _author(*stamp.by.split("/", 1)), {})
        return claim_document(claim, self._past.adopted_rev(state), stamp.at_us, ADOPTED, {})


def _author(user: str, conn: str = "") -> str:
    """Who set a value, as Blame names them: people with their connection."""
    return user if user.startswith("@") else f"{user}/{conn}"

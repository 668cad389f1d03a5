"""A request to a group becomes a plan."""

from typing import Any

import msgspec

from broker.accept.arrival import Arrival
from broker.plans.asked import APPLY, params_bytes
from broker.plans.live import Asker
from broker.plans.plans import Plans
from broker.settings import Group, Settings
from broker.settle.rights.policing import NeedsSecondError
from broker.store.rows import RequestRow
from broker.topics import Topics
from handlers.methods.recipes import found_recipe
from handlers.plans.plan import Asked, digest_of
from handlers.plans.rollout import spec_of, waves_of
from handlers.plans.states import PlanKind
from handlers.rpc.outcome import RolloutOrder
from handlers.rpc.row import Rpc
from handlers.rpc_table import RPC_TABLE, SETS
from handlers.state.refusals import NOTHING_CHANGED
from schema.codecs.plain import from_plain
from schema.envelope import Away, GroupOptions, When
from schema.errors import BrokerError
from schema.messages import Message

ARMS_MOST, AT_ONCE_MOST = 10_000, 256
"""Arms of a plan, and of one that is done with all of them or with none."""
NAMED_MOST = 8
ONLY_ALL = frozenset({"ConfirmPending", "DiscardPending"})
"""Methods whose revisions are those of one arm: a group takes them with `all` alone."""
METHODS = SETS | {"ApplyConfig", "ApplyRecipe"}
"""What a Rollout may do."""
_DEFAULTS = GroupOptions()
_MILLI = 1_000


class FanOut:
    """Makes plans of requests to groups."""

    def __init__(self, plans: Plans, settings: Settings, topics: Topics) -> None:
        self._plans, self._topics = plans, topics
        self.follow(settings)

    def follow(self, settings: Settings) -> None:
        """Decide by these settings from now on."""
        self._proven = settings.mqtt.identity == "server-acl"

    def begin(self, arrival: Arrival, rpc: Rpc, group: Group, expires_us: int, row: RequestRow | None) -> None:
        """Let a plan begin; `row` is that of the request, None of a dry run.

        Raises:
            BrokerError: unknown_arm, unsupported_option, busy.
        """
        options = arrival.envelope.group or _DEFAULTS
        arms = members(group, options)
        if options.all_or_nothing and len(arms) > AT_ONCE_MOST:
            text = f"group.all_or_nothing: {len(arms)} arms, at most {AT_ONCE_MOST} change at once"
            raise BrokerError("unsupported_option", f"{text}. {NOTHING_CHANGED}")
        if rpc.name in ONLY_ALL and isinstance(arrival.params, dict) and "rev" in arrival.params:
            text = f"params.rev: {rpc.name} of a group takes all: true; revisions are those of one arm"
            raise BrokerError("unsupported_option", f"{text}. {NOTHING_CHANGED}")
        asked = self._asked(arrival, rpc, group.address, arms, options)
        asked = msgspec.structs.replace(asked, expires_us=expires_us)
        self._plans.begin(asked, self._asker(arrival), row)

    def roll_out(self, arrival: Arrival, order: RolloutOrder, group: Group, row: RequestRow | None) -> None:
        """Let a rollout begin; `row` is that of the request, None of a dry run.

        Raises:
            BrokerError: unsupported_option, unknown_arm, held, busy; what is wrong with the params of its method.
        """
        options = arrival.envelope.group or _DEFAULTS
        _check_options(arrival, options)
        rpc = RPC_TABLE.get(order.method)
        if rpc is None or rpc.name not in METHODS:
            text = f"params.method: {order.method[:64]} is no Set of an item, ApplyConfig or ApplyRecipe"
            raise BrokerError("unsupported_option", f"{text}. {NOTHING_CHANGED}")
        arms = members(group, options)
        self._plans.rollouts.check_free(arms)
        inner = order.inner if rpc.request is None else from_plain(order.inner, rpc.request, "params.params")
        away = Away.REFUSE if options.away is Away.REFUSE else Away.SKIP
        asked = self._asked(arrival, rpc, group.address, arms, msgspec.structs.replace(options, away=away), inner)
        spec = spec_of(order.params)
        if isinstance(spec.canary, tuple):
            waves_of(spec, arms, ())
        said = msgspec.structs.asdict(spec)
        asked = msgspec.structs.replace(
            asked, kind=PlanKind.ROLLOUT, rollout=spec, ttl_ms=0,
            digest=digest_of(rpc.name, asked.params.decode(), arms, {"digest": asked.digest, **said}),
        )  # fmt: skip
        self._plans.begin(asked, self._asker(arrival), row)

    def propose(self, arrival: Arrival, second: NeedsSecondError, row: RequestRow) -> None:
        """Let a request to one arm wait for a second person; its time to live begins with the approval.

        Raises:
            BrokerError: no_room.
        """
        rpc, arm = arrival.rpc, arrival.topic.arm
        if rpc is None:
            raise second
        asked = self._asked(arrival, rpc, arm, (arm,), _DEFAULTS)
        asked = msgspec.structs.replace(asked, kind=PlanKind.SINGLE, if_rev=arrival.envelope.if_rev)
        self._plans.propose(asked, self._asker(arrival), row, second.rule)

    def _asker(self, arrival: Arrival) -> Asker:
        return Asker(arrival.address(self._topics), arrival.envelope.wait, tuple(arrival.warnings))

    def _asked(
        self,
        arrival: Arrival,
        rpc: Rpc,
        target: str,
        arms: tuple[str, ...],
        options: GroupOptions,
        inner: Message | dict[str, Any] | None = None,
    ) -> Asked:
        topic, envelope = arrival.topic, arrival.envelope
        until_us = envelope.until_us or 0
        if envelope.valid_for_ms is not None:
            until_us = arrival.at_us + envelope.valid_for_ms * _MILLI
        given = arrival.params if inner is None else inner
        resolved = self._resolved(given, rpc)
        params = params_bytes(given if resolved is None else resolved[0])
        said = {"recipe": "" if resolved is None else resolved[1]} | {
            "all_or_nothing": options.all_or_nothing, "away": Away(options.away).name.lower(),
            "parallel": options.parallel, "until": until_us, "when": When(envelope.when).name.lower(),
        }  # fmt: skip
        return Asked(
            kind=PlanKind.GROUP, target=target, method=rpc.name, params=params, arms=arms, user=topic.user,
            conn=topic.conn, proven=self._proven, id=arrival.id, reason=envelope.reason, unit=envelope.unit,
            at_us=arrival.at_us, until_us=until_us, when_idle=envelope.when is When.IDLE,
            ttl_ms=envelope.ttl_ms or 0, valid_for_ms=envelope.valid_for_ms or 0, all_or_nothing=options.all_or_nothing,
            away=options.away,
            parallel=options.parallel, digest=digest_of(rpc.name, params.decode(), arms, said),
            trace=arrival.message.trace,
        )  # fmt: skip

    def _resolved(self, params: Message | dict[str, Any] | None, rpc: Rpc) -> tuple[dict[str, Any], str] | None:
        """Params of ApplyRecipe with the version that counts now, and the digest of its values; None of others.

        Raises:
            BrokerError: unknown_recipe.
        """
        if rpc.name != APPLY or not isinstance(params, dict):
            return None
        recipe = found_recipe(self._plans.recipes, params, "recipe", listed=True)
        return params | {"version": recipe.version}, recipe.digest


def _check_options(arrival: Arrival, options: GroupOptions) -> None:
    """Refuse options that a rollout does not take."""
    if options.all_or_nothing:
        text = "a Rollout takes no all_or_nothing"
        raise BrokerError("unsupported_option", f"group: {text}. {NOTHING_CHANGED}")
    if options.away_named and options.away is Away.WAIT:
        text = "group.away: a Rollout takes skip or refuse, not wait"
        raise BrokerError("unsupported_option", f"{text}. {NOTHING_CHANGED}")
    if arrival.envelope.ttl_ms is not None:
        raise BrokerError("unsupported_option", f"ttl_ms: a Rollout has row_within_ms. {NOTHING_CHANGED}")


def members(group: Group, options: GroupOptions) -> tuple[str, ...]:
    """The arms of a request, by id.

    Raises:
        BrokerError: unknown_arm: one that is named is no member; unsupported_option: they are too many.
    """
    strangers = [arm for arm in options.only if arm not in group.members]
    if strangers:
        more = f" and {len(strangers) - NAMED_MOST} more" if len(strangers) > NAMED_MOST else ""
        text = f"group.only: no member of {group.address}: {', '.join(strangers[:NAMED_MOST])}{more}"
        raise BrokerError("unknown_arm", f"{text}. {NOTHING_CHANGED}")
    arms = tuple(sorted(options.only)) if options.only else group.arms
    if len(arms) > ARMS_MOST:
        text = f"{group.address} has {len(arms)} arms, a plan at most {ARMS_MOST}: name some in group.only"
        raise BrokerError("unsupported_option", f"{text}. {NOTHING_CHANGED}")
    return arms

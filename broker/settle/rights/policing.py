"""The policy that counts now, asked of requests and of changes that waited."""

from collections.abc import Iterable
from functools import partial
from itertools import islice

import msgspec

from broker.arms.jobs import ChangeJob
from broker.clock import BEHIND, Clock
from broker.settle.rights.judged import judged_batch, judged_overrides
from broker.settle.rights.write_rates import WriteRates
from broker.store.rows import Terms
from handlers.policy.needs import Need, need_of, needs_of, references_of
from handlers.policy.rights import NEEDS, Asked, PolicyRight
from handlers.policy.rules import Policy
from handlers.policy.verdict import Facts, Passed, Refused, of_all, shut_out, verdict
from handlers.policy.words import needs_second, not_permitted, refusal_of
from handlers.rpc.outcome import BatchProposal, EndOrder, ExtendOrder, Outcome
from handlers.rpc.request import Request
from handlers.rpc.row import Access, Rpc
from handlers.stack.arm_limits import limits_of
from handlers.state.arm_state import ArmState
from schema.arms import Verb
from schema.errors import BrokerError

LOOKED_AT = 8
"""Arms of a group that are looked at to tell whether a request tightens."""
OURS = "@"
"""Begins the names of those that no rule is asked for: the service, and the arms themselves."""


class NeedsSecondError(BrokerError):
    """Only a second person can let pass what was decided: `outcome`."""

    def __init__(self, why: BrokerError, outcome: Outcome) -> None:
        super().__init__(why.kind, why.message, rule=why.rule)
        self.outcome = outcome


def _tightens(rpc: Rpc, request: Request, state: ArmState) -> bool:
    """Whether a request would tighten, or is refused by an arm anyway."""
    try:
        needs = needs_of(state, rpc.decide(state, request))
    except BrokerError:
        return True
    return bool(needs) and all(need.right is PolicyRight.TIGHTEN for need in needs)


def _takes_parts(request: Request) -> bool:
    """Whether a request is content with a part of what it asks for."""
    return isinstance(request.params, dict) and request.params.get("partial") is True


class Policing:
    """Asks the policy; `policy` is None where there is none, and then nothing is to be asked."""

    def __init__(self, clock: Clock) -> None:
        self._clock, self._rates = clock, WriteRates(clock.monotonic)
        self.policy: Policy | None = None

    def follow(self, policy: Policy | None) -> bool:
        """Go by this policy from now on; whether it is another file than before."""
        before, self.policy = self.shown(), policy
        return self.shown() != before

    def shown(self) -> dict[str, object]:
        """Which policy counts: digest of its file, number of its rules; none: no digest, no rules."""
        policy = self.policy
        return {"digest": policy.digest, "rules": len(policy.rules)} if policy else {"digest": "", "rules": 0}

    def check(self, rpc: Rpc, request: Request) -> Request:
        """What can be told before a request is decided; the request, with the roles of who asks what it is.

        Raises:
            BrokerError: not_permitted.
        """
        policy, asked = self._policy, NEEDS[rpc.name]
        if isinstance(asked, PolicyRight):
            if asked is not PolicyRight.READ or policy.asks_reads:
                self._refuse(request, (Need(asked, request.arm, rpc.item),))
        elif asked is Asked.BY_DIRECTION:
            refused = shut_out(policy, self._facts(request), request.arm, rpc.item)
            if refused is not None:
                raise not_permitted(request.user, Need(PolicyRight.TIGHTEN, request.arm, rpc.item), refused, rpc.name)
        elif rpc.any_arm:
            return msgspec.structs.replace(request, roles=tuple(sorted(policy.roles_of(request.user))))
        return request

    def check_fleet(self, rpc: Rpc, request: Request, arms: tuple[str, ...]) -> None:
        """What is asked of several arms at once, or of no arm, and answered as one.

        Raises:
            BrokerError: not_permitted, rate_limited.
        """
        asked = NEEDS[rpc.name]
        if not isinstance(asked, PolicyRight) or (asked is PolicyRight.READ and not self._policy.asks_reads):
            return
        self._refuse(request, tuple(Need(asked, arm) for arm in arms))
        if rpc.access is Access.WRITE and not request.envelope.dry_run:
            self._count(request.user)

    def check_right(self, right: PolicyRight, request: Request, arm: str) -> None:
        """Refuse who has no right on an arm; without a policy everybody has it.

        Raises:
            BrokerError: not_permitted.
        """
        if self.policy is not None:
            self._refuse(request, (Need(right, arm),))

    def may_steer(self, user: str, arm: str) -> bool:
        """Whether the policy, if there is one, lets a user steer what others do with an arm."""
        if self.policy is None:
            return True
        facts = Facts(user, self._clock.now_us(), self._clock.state is BEHIND)
        return isinstance(verdict(self.policy, Need(PolicyRight.STEER, arm), facts), Passed)

    def count_group(self, rpc: Rpc, request: Request, states: Iterable[ArmState]) -> None:
        """A request to a group counts as one write, unless it tightens, as far as its first arms tell.

        Raises:
            BrokerError: rate_limited.
        """
        if NEEDS[rpc.name] is Asked.BY_DIRECTION and all(
            _tightens(rpc, request, state) for state in islice(states, LOOKED_AT)
        ):
            return
        self._count(request.user)

    def judge(self, state: ArmState, request: Request, outcome: Outcome, *, counts: bool) -> Outcome:
        """What was decided, as far as its direction and values may be; `counts`: it is a write that is carried out.

        Raises:
            NeedsSecondError: a rule lets it pass with a second person.
            BrokerError: not_permitted, out_of_limits, rate_limited.
        """
        refuse = partial(self._refuse, request)
        if isinstance(outcome, BatchProposal):
            outcome, needs, second = judged_batch(refuse, state, outcome, partial=_takes_parts(request))
        elif isinstance(outcome, ExtendOrder | EndOrder):
            outcome, needs, second = judged_overrides(refuse, state, outcome)
        else:
            needs = needs_of(state, outcome)
            second = refuse(needs)
        named = isinstance(NEEDS[request.method], PolicyRight)
        if counts and (named or any(need.right is not PolicyRight.TIGHTEN for need in needs)):
            self._count(request.user)
        if second is not None:
            raise NeedsSecondError(second, outcome)
        return outcome

    def _count(self, user: str) -> None:
        if (rate := self._policy.rate_of(user)) is not None:
            self._rates.take(user, rate)

    def refuses(self, state: ArmState, job: ChangeJob) -> BrokerError | None:
        """Why a change that waited may not begin any more, if so."""
        if job.author.user.startswith(OURS) or job.method not in NEEDS:  # what takes something back is not asked
            return None
        needs = tuple(
            need_of(
                state.arm, part.slot, part.wanted, references_of(state, part.slot, part.wanted, part.named),
                joints=limits_of(state).joints,
                resets=part.verb is Verb.RESET, unchanged=part.unchanged,
            )
            for part in job.parts
        )  # fmt: skip
        terms = job.terms or Terms()
        lasts_us = terms.until_us - job.at_us if terms.until_us else 0
        facts = Facts(
            job.author.user, self._clock.now_us(), self._clock.state is BEHIND, lasts_us, bool(terms.approved_by)
        )
        found, need = of_all(self._policy, needs, facts)
        if need is None:
            return None
        if isinstance(found, Refused):
            return refusal_of(job.author.user, need, found, job.method)
        return needs_second(job.author.user, need, found.rule)

    @property
    def _policy(self) -> Policy:
        if self.policy is None:
            raise RuntimeError("there is no policy to be asked")
        return self.policy

    def _facts(self, request: Request) -> Facts:
        envelope = request.envelope
        lasts_us = (envelope.valid_for_ms or 0) * 1_000
        if envelope.until_us is not None:
            lasts_us = envelope.until_us - request.at_us
        return Facts(
            request.user, self._clock.now_us(), self._clock.state is BEHIND, lasts_us, bool(request.approved_by)
        )

    def _refuse(self, request: Request, needs: Iterable[Need]) -> BrokerError | None:
        """Refuse what no rule lets pass; the refusal of what only a second person can let pass is given back.

        Raises:
            BrokerError: not_permitted, out_of_limits.
        """
        found, need = of_all(self._policy, needs, self._facts(request))
        if need is None:
            return None
        if isinstance(found, Refused):
            raise refusal_of(request.user, need, found, request.method)
        return needs_second(request.user, need, found.rule)

"""Puts together what a run writes, publishes and reaches arms with."""

import asyncio
from collections.abc import Callable, Iterable, Mapping
from functools import partial
from typing import NamedTuple

from broker import self_description
from broker.accept.acceptor import Acceptor
from broker.accept.comparisons import Comparisons
from broker.accept.decision import Decision
from broker.accept.denials import Denials
from broker.accept.fleet_questions import FleetQuestions
from broker.accept.intake import Acks, Intake, marker_levels
from broker.accept.orders import Orders
from broker.accept.quarantine import META_KEY, Quarantine
from broker.accept.turnstile import Turnstile
from broker.announcer import Announcer
from broker.arms.arm_session import ArmSession
from broker.clock import Clock
from broker.counters import Counters
from broker.link.mqtt_link import LinkConfig, MqttLink, parse_url
from broker.plans.boards import META_KEY as BOARDS_KEY
from broker.plans.plans import Around, Plans
from broker.presence.presence import Presence
from broker.publish.comparison import FACTSHEET
from broker.publish.contents import BUILDERS
from broker.publish.documents import Documents
from broker.publish.notices import Notices
from broker.publish.outbox import Outbox
from broker.publish.readback import ReadBack
from broker.publish.strangers import Strangers
from broker.publish.summaries import Summaries
from broker.record.administration import Administration
from broker.record.fleet_events import FleetEvents
from broker.record.ledger import Ledger
from broker.record.past_values import PastValues
from broker.record.principals import Principals
from broker.record.recipes import RecipeBook
from broker.record.replies import JSON, Replies
from broker.record.traffic import Traffic
from broker.settings import Settings
from broker.settings.policy_file import load_policy
from broker.settle.contact.adoption import Adoption
from broker.settle.contact.fences import Fences
from broker.settle.contact.reconciler import Reconciler
from broker.settle.parking import Parking
from broker.settle.queues import Queues
from broker.settle.rights.authority import Authorities
from broker.settle.settler import Settler
from broker.store.rows import ArmRow, Loaded
from broker.store.set_time import SURE_KEY
from broker.store.store import Store
from broker.topics import Topics
from handlers.rpc.row import Right


def keep_doubts(clock: Clock, store: Store, loaded: Loaded) -> None:
    """Let the next start know since when ages are known."""

    def keep() -> None:
        store.batch.set_meta(SURE_KEY, str(clock.sure_since_us))
        store.flush_later()

    clock.on_doubt = keep
    if clock.sure_since_us != int(loaded.meta.get(SURE_KEY, 0)):
        keep()


def ledger_of(
    settings: Settings, store: Store, loaded: Loaded, clock: Clock, outbox: Outbox, topics: Topics, counters: Counters
) -> Ledger:
    """What writes and publishes: the ledger with documents and notices."""
    epoch, codec, loop = loaded.epoch, JSON, asyncio.get_running_loop()
    documents = Documents(
        outbox=outbox, clock=clock, epoch=epoch, instance=settings.instance, topics=topics, codec=codec, loop=loop,
        builders={**BUILDERS, FACTSHEET: self_description.factsheet}, held=True,
    )  # fmt: skip
    notices = Notices(
        store=store, clock=clock, outbox=outbox, topics=topics, codec=codec, rows=loaded.handles,
        first=loaded.next_handle,
    )  # fmt: skip
    ledger = Ledger(
        store=store, clock=clock, epoch=epoch, outbox=outbox, documents=documents, notices=notices,
        principals=Principals(store, loaded.principals), topics=topics, codec=codec, next_n=loaded.next_n,
        counters=counters, traffic=(traffic := Traffic(store, clock.monotonic, settings.clients)),
    )  # fmt: skip
    outbox.on_published = traffic.published
    documents.after_commit, documents.awaited = ledger.after_commit, store.way.is_awaited
    store.begin_telling, store.end_telling, store.all_told = outbox.gather, outbox.pump, outbox.all_told
    store.tell = ledger.tell
    return ledger


def trace_to_collector(settings: Settings, ledger: Ledger, replies: Replies, clock: Clock) -> Callable[[], None]:
    """Make spans of traced requests, if the settings name a collector; what ends that."""
    if not settings.traces.otlp:
        return lambda: None
    from broker.spans import Spans, exporter  # noqa: PLC0415 - a large library, of an extra

    spans = Spans(exporter(settings.traces.otlp), settings.instance, clock.now_us, clock.monotonic)
    replies.on_traced, ledger.traffic.on_ended = spans.answered, spans.ended
    return spans.close


def settler_of(settings: Settings, ledger: Ledger, replies: Replies, queues: Queues) -> Settler:
    """What applies changes, by the policy that the settings name."""
    settler = Settler(
        ledger=ledger, replies=replies, documents=ledger.documents, queues=queues, loop=asyncio.get_running_loop(),
        pending_max_age_us=settings.arm_defaults.pending_max_age_us,
        idle_for_s=settings.arm_defaults.idle_for_us / 1e6,
    )  # fmt: skip
    settler.policing.follow(load_policy(settings))
    return settler


def summaries_of(
    settings: Settings, topics: Topics, ledger: Ledger, sessions: Mapping[str, ArmSession], events: FleetEvents
) -> Summaries:
    """What summarises groups."""
    return Summaries(
        documents=ledger.documents, sessions=sessions, outbox=ledger.outbox, stream=events.stream, clock=ledger.clock,
        topics=topics, codec=JSON, instance=settings.instance,
    )  # fmt: skip


def readback_of(
    make_link: Callable[[str], MqttLink],
    settings: Settings,
    topics: Topics,
    ledger: Ledger,
    sessions: Mapping[str, ArmSession],
    summaries: Summaries,
    announcer: Announcer,
) -> ReadBack:
    """What compares the documents with those that are retained."""
    server = parse_url(settings.mqtt.url)
    publish = f"mosquitto_pub -h {server.host} -p {server.port}"
    publish += f" -u {settings.mqtt.user} -P ..." if settings.mqtt.user else ""
    strangers = Strangers(settings.instance, topics, publish)
    return ReadBack(
        make_link, topics, ledger.documents, ledger.outbox, sessions, strangers, summaries, announcer,
        ledger.store.way.quiet,
    )  # fmt: skip


def reconciler_of(
    ledger: Ledger,
    settler: Settler,
    queues: Queues,
    announcer: Announcer,
    fences: Fences,
    release: Callable[[ArmSession], None],
    known: Iterable[ArmRow],
) -> Reconciler:
    """What reaches arms, and what settling needs of it; `known` are the arms of the store."""
    fences.on_raised = announcer.service
    adoption = Adoption(ledger, ledger.documents, settler.parking, fences, announcer.factsheet)
    adoption.serials.update((row.serial, row.arm) for row in known if row.serial)
    reconciler = Reconciler(
        ledger=ledger, endings=settler.endings, documents=ledger.documents, queues=queues,
        loop=asyncio.get_running_loop(), release=release, adoption=adoption, idle=settler.idle,
    )  # fmt: skip
    settler.idle.read = partial(reconciler.contact_soon, why="changes wait until it is idle", connect=False)
    settler.exchange.reach, settler.exchange.on_lost = reconciler.reach, reconciler.lose
    settler.endings.describe, settler.overriding.release = announcer.factsheet, release
    return reconciler


class Access(NamedTuple):
    """What decides and tells who may do what with an arm."""

    administration: Administration
    denials: Denials
    authorities: Authorities


def access_of(
    ledger: Ledger,
    sessions: Mapping[str, ArmSession],
    parking: Parking,
    describe: Callable[[ArmSession], None],
    release: Callable[[ArmSession], None],
) -> Access:
    """What decides and tells who may do what; `describe` and `release` as `Authorities` wants them."""
    administration = Administration(ledger)
    authorities = Authorities(
        ledger, administration, parking.stop_waiting, asyncio.get_running_loop(), describe, release
    )
    return Access(administration, Denials(administration, sessions, ledger.clock.monotonic), authorities)


def orders_of(
    ledger: Ledger,
    access: Access,
    settler: Settler,
    reconciler: Reconciler,
    comparisons: Comparisons,
    recipes: RecipeBook,
) -> Orders:
    """What carries out what handlers order of the shell."""
    return Orders(
        ledger, ledger.notices, authorities=access.authorities, parking=settler.parking,
        confirm_arm=reconciler.confirm_arm, administration=access.administration, overriding=settler.overriding,
        recipes=recipes, comparisons=comparisons,
    )  # fmt: skip


def intake_of(link: MqttLink, presence: Presence, config: LinkConfig, topics: Topics) -> Intake:
    """What requests come in by; its markers stand where the access rules let every user publish."""
    levels = marker_levels(config.user, config.client_id)
    return Intake(link, presence, "/".join((topics.request_filter.removesuffix("/#"), *levels, "")))


def plans_of(
    ledger: Ledger,
    replies: Replies,
    settler: Settler,
    events: FleetEvents,
    sessions: dict[str, ArmSession],
    settings: Settings,
    topics: Topics,
    loaded: Loaded,
    decision: Decision,
    orders: Orders,
    recipes: RecipeBook,
    linked: Callable[[], bool],
) -> Plans:
    """What carries out requests to groups; each row is decided as a message to its arm."""

    def may_write(user: str, arm: str) -> bool:
        return Right.WRITE in decision.grant(user).on(arm)

    def may_steer(user: str, arm: str) -> bool:
        return may_write(user, arm) and settler.policing.may_steer(user, arm)

    return Plans(
        Around(
            ledger, replies, settler, events, sessions, topics, settings.instance, loaded.meta.get(BOARDS_KEY, ""),
            partial(decision.of, counts=False), orders.carry_out, may_write, may_steer, settings.fleet.rate,
            recipes.shelf, linked,
        )
    )  # fmt: skip


class Acceptance(NamedTuple):
    """What decides requests, what acknowledges them, and what takes them in and picks the next one."""

    acceptor: Acceptor
    plans: Plans
    acks: Acks
    turnstile: Turnstile


def acceptance_of(
    intake: Intake,
    ledger: Ledger,
    replies: Replies,
    settler: Settler,
    queues: Queues,
    presence: Presence,
    access: Access,
    reconciler: Reconciler,
    loaded: Loaded,
    fleet_events: FleetEvents,
    recipes: RecipeBook,
    tasks: asyncio.TaskGroup,
    sessions: dict[str, ArmSession],
    settings: Settings,
    topics: Topics,
) -> Acceptance:
    """Stage 1."""
    acks = Acks(intake)
    past = PastValues(ledger.store)
    decision = Decision(ledger.store.reserve, settings, settler.policing, past)
    comparisons = Comparisons(sessions, past, decision.check_read)
    quarantine = Quarantine(ledger, loaded.meta.get(META_KEY, ""), clean=loaded.clean)
    orders = orders_of(ledger, access, settler, reconciler, comparisons, recipes)
    plans = plans_of(
        ledger, replies, settler, fleet_events, sessions, settings, topics, loaded, decision, orders, recipes,
        intake.linked,
    )  # fmt: skip
    acceptor = Acceptor(
        acks=acks, ledger=ledger, replies=replies, settler=settler, quarantine=quarantine, denials=access.denials,
        orders=orders, notices=ledger.notices, sessions=sessions, settings=settings, topics=topics, decision=decision,
        fleet_events=fleet_events, plans=plans,
        questions=FleetQuestions(sessions, ledger.store, comparisons, recipes.shelf, tasks, ledger.outbox.page_room),
    )  # fmt: skip
    turnstile = Turnstile(
        intake=intake, ledger=ledger, acceptor=acceptor, acks=acks, replies=replies, quarantine=quarantine,
        queues=queues, presence=presence, sessions=sessions, settings=settings, topics=topics,
    )  # fmt: skip
    return Acceptance(acceptor, plans, acks, turnstile)

"""Commands to arms that speak MQTT, and their acknowledgements."""

from collections.abc import Mapping
from typing import Annotated, Any, Literal, NamedTuple

import msgspec

from devices.adapter import ArmRefusedError, Command
from devices.mqtt_agent.documents import (
    COMMAND_MOST,
    Name,
    Number,
    Number0,
    UnreadableError,
    Words,
    as_record,
    cut,
    read_document,
    read_plain,
    write_document,
)
from devices.mqtt_agent.values import SLOTS, from_value, slot_of, to_value
from schema.arms import Slot, Verb
from schema.items import KINOVA_ITEMS, slot_name
from schema.messages import Message

EXPIRES_MOST_MS = 3_600_000

Fence = tuple[int, int]
"""The highest (epoch, cmd_seq) that an arm was ever given."""
Key = tuple[int, ...]
"""What an acknowledgement is for: `(epoch, cmd_seq)` of a write, or `(read,)`."""


class Order(NamedTuple):
    """A command as an arm gets it: to write one slot, or to read one (`slot`) or all (None)."""

    session: int
    key: Key
    expires_in_ms: int
    command: Command | None
    slot: Slot | None


class UnfitOrderError(Exception):
    """A command that an arm refuses as it stands; `session` and `key` say what to answer."""

    def __init__(self, session: int, key: Key, text: str) -> None:
        super().__init__(text)
        self.session = session
        self.key = key


class Ack(NamedTuple):
    """The answer to a command as it came: values are read by whoever knows what was asked for."""

    session: int
    key: Key
    fence: Fence
    refusal: ArmRefusedError | None
    value: Any
    items: Any


class _Command(msgspec.Struct, forbid_unknown_fields=True):
    session: Number
    verb: Literal["set", "reset", "read", "read_all"]
    expires_in_ms: Annotated[int, msgspec.Meta(ge=1, le=EXPIRES_MOST_MS)]
    epoch: Number0 | None = None
    cmd_seq: Number0 | None = None
    read: Number | None = None
    item: Name | None = None
    slot: Name = ""
    value: Any = None


class _Address(msgspec.Struct):
    session: Number
    epoch: Number0 | None = None
    cmd_seq: Number0 | None = None
    read: Number | None = None


class _Value(msgspec.Struct):
    item: Name
    value: Any
    slot: Name = ""


class _Error(msgspec.Struct):
    code: Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]
    sub_code: Annotated[int, msgspec.Meta(ge=0, le=1_000_000)]
    name: Name
    text: Words = ""


class _Ack(msgspec.Struct):
    session: Number
    ok: bool
    fence: tuple[Number0, Number0]
    epoch: Number0 | None = None
    cmd_seq: Number0 | None = None
    read: Number | None = None
    value: Any = None
    items: Annotated[tuple[_Value, ...], msgspec.Meta(max_length=1_000)] | None = None
    error: _Error | None = None


def _key(epoch: int | None, cmd_seq: int | None, read: int | None) -> Key:
    """What a message is about; exactly one of the two forms."""
    if read is not None and epoch is None and cmd_seq is None:
        return (read,)
    if read is None and epoch is not None and cmd_seq is not None:
        return (epoch, cmd_seq)
    raise UnreadableError("either epoch and cmd_seq, or read is needed")


def _key_fields(key: Key) -> dict[str, int]:
    return {"read": key[0]} if len(key) == 1 else {"epoch": key[0], "cmd_seq": key[1]}


def _slot_fields(slot: Slot) -> dict[str, str]:
    return {"item": slot[0], "slot": slot_name(slot)} if slot[1] else {"item": slot[0]}


def write_order(order: Order) -> bytes:
    """The payload of a command."""
    command, slot = order.command, order.slot
    verb = str(command.verb) if command is not None else "read_all" if slot is None else "read"
    document: dict[str, Any] = {"session": order.session, **_key_fields(order.key), "verb": verb}
    if slot is not None:
        document |= _slot_fields(slot)
        if command is not None and command.value is not None:
            document["value"] = to_value(slot, command.value)
    return write_document({**document, "expires_in_ms": order.expires_in_ms})


def read_order(payload: bytes) -> Order:
    """The command in a message, strictly: an arm does nothing that it does not understand wholly.

    Raises:
        UnreadableError: it does not say what it is about: there is nothing to answer.
        UnfitOrderError: it breaks the protocol otherwise.
    """
    document = read_plain(payload, COMMAND_MOST)
    address = as_record(document, _Address)
    key = _key(address.epoch, address.cmd_seq, address.read)
    try:
        return _order(as_record(document, _Command), key)
    except UnreadableError as error:
        raise UnfitOrderError(address.session, key, str(error)) from error


def _order(given: _Command, key: Key) -> Order:
    if given.verb in ("read", "read_all"):
        if len(key) != 1:
            raise UnreadableError(f"verb {given.verb} needs read, not epoch and cmd_seq")
        slot = slot_of(given.item or "", given.slot) if given.verb == "read" else None
        return Order(given.session, key, given.expires_in_ms, None, slot)
    if len(key) == 1:
        raise UnreadableError(f"verb {given.verb} needs epoch and cmd_seq, not read")
    verb, slot = Verb(given.verb), slot_of(given.item or "", given.slot)
    value = from_value(slot, given.value) if verb is Verb.SET else None
    return Order(given.session, key, given.expires_in_ms, Command(key[0], key[1], verb, slot, value), slot)


class AckHead(NamedTuple):
    """What every acknowledgement begins with: the arm's session, what it answers, and the arm's fence."""

    session: int
    key: Key
    fence: Fence

    def document(self, *, ok: bool, **more: Any) -> bytes:
        """The payload of an acknowledgement."""
        head = {"session": self.session, **_key_fields(self.key), "ok": ok, "fence": list(self.fence)}
        return write_document({**head, **more})


def write_done(head: AckHead, slot: Slot | None = None, value: Message | None = None) -> bytes:
    """The acknowledgement of a write that took effect, or of a read, with the value."""
    return head.document(ok=True, value=None if slot is None or value is None else to_value(slot, value))


def write_all(head: AckHead, items: Mapping[Slot, Message]) -> bytes:
    """The acknowledgement of a reading of everything."""
    rows = [{**_slot_fields(slot), "value": to_value(slot, value)} for slot, value in items.items()]
    return head.document(ok=True, items=rows)


def write_refusal(head: AckHead, error: ArmRefusedError) -> bytes:
    """The acknowledgement of a command that was refused."""
    told = {"code": error.code, "sub_code": error.sub_code, "name": error.name, "text": cut(str(error))}
    return head.document(ok=False, error=told)


def read_ack(payload: bytes) -> Ack:
    """The acknowledgement in a message.

    Raises:
        UnreadableError: it breaks the protocol.
    """
    given = read_document(payload, _Ack)
    key = _key(given.epoch, given.cmd_seq, given.read)
    if given.ok != (given.error is None):
        raise UnreadableError("error goes with ok: false, and only with it")
    refusal = None
    if (error := given.error) is not None:
        refusal = ArmRefusedError(error.code, error.sub_code, error.name, cut(error.text))
    return Ack(given.session, key, given.fence, refusal, given.value, given.items)


def all_values(ack: Ack) -> dict[Slot, Message]:
    """The values of a reading of everything: of every slot, once; items that this version does not know are left out.

    Raises:
        UnreadableError: they are not all there, or one is wrong.
    """
    if ack.items is None:
        raise UnreadableError("items are missing")
    values: dict[Slot, Message] = {}
    for row in ack.items:
        if row.item in KINOVA_ITEMS:
            slot = slot_of(row.item, row.slot)
            if slot in values:
                raise UnreadableError(f"item {row.item} {row.slot} comes twice")
            values[slot] = from_value(slot, row.value)
    if missing := [slot for slot in SLOTS if slot not in values]:
        raise UnreadableError(f"items: {missing[0][0]} {slot_name(missing[0])} is missing")
    return values

"""The inside of a simulated arm: what it holds, what it takes, what it tells. No time, no link."""

import hashlib
from collections.abc import Callable

from devices.adapter import ArmChange, ArmRefusedError, Command, Snapshot
from devices.refusals import refused
from devices.simulated.cells import MODES_SETTABLE, Cell, cells_of
from devices.simulated.store import SWAPS, ArmMemory, Entry, Refusal, SimulatedStore
from limits.kinova_models import MODELS
from schema.arms import Description, JointInfo, Slot, Verb
from schema.items import ITEMS, SOFT_LIMIT_MODES, Order
from schema.messages import Message

FIRMWARE = "simulated Gen3 1"
EVERY_SLOT: Slot = ("", 0)
"""Given to `Firmware.refuse`: every slot."""

_BUSY: dict[str, tuple[int, int, str]] = {
    "moving": (3, 18, "ROBOT_MOVEMENT_IN_PROGRESS"),
    "local": (3, 51, "DEVICE_NOT_READY"),
    "fault": (3, 51, "DEVICE_NOT_READY"),
}
"""What refuses a command, by what keeps the arm from taking it."""
_NVRAM_WRITE_FAIL: tuple[int, int, str] = (3, 134, "NVRAM_WRITE_FAIL")
_NOTES = (
    "a simulated arm: figures of public documents, not read from a real one",
    "starts in mode IDLE, reference frame MIXED, without payload and tool; desired speeds start at the joystick's",
    "takes requests for the joystick, trajectory, admittance and idle modes; no real Kinova arm takes one",
    "a public soft default above the hard limit is lowered to it (573 to 572.95 deg/s²)",
)

_SET, _RESET = Verb.SET, Verb.RESET


def serial_number(arm: str, model: str, swaps: int = 0) -> str:
    """The serial number of a simulated arm: always the same for a name and model, and after as many swaps."""
    named = f"{arm} {model} {swaps}" if swaps else f"{arm} {model}"
    return "SIM" + hashlib.blake2b(named.encode(), digest_size=5).hexdigest().upper()


class Firmware:
    """One simulated arm of a model, remembered in a store.

    `tell` is called for each accepted set and reset, also when nothing changed. `refuse` may name a slot (mode 0: all
    modes of the item) whose commands are refused, or EVERY_SLOT; while it is `busy` all are. With `clamp` the arm takes
    half of each bound that it is sent, and other items as they are. The serial number is made of `first_name` if
    there is one.
    """

    def __init__(
        self, arm: str, model: str, store: SimulatedStore, tell: Callable[[ArmChange], None], first_name: str = ""
    ) -> None:
        self.model = model
        self.refuse: Slot | None = None
        self.busy = ""
        self.clamp = False
        self._first_name = first_name or arm
        self._store = store
        self._start()
        self._cells = cells_of(model)
        self._tell = tell
        self._link = f"simulated/{arm}/armbroker"
        self._other = f"simulated/{arm}/other"

    def _start(self) -> None:
        """Begin with what the arm that stands here kept."""
        self._swaps = self._store.memory(serial_number(self._first_name, self.model)).swaps
        self.serial = serial_number(self._first_name, self.model, self._swaps)
        self._memory: ArmMemory = self._store.memory(self.serial)
        self._at_start = dict(self._memory.items)

    def reboot(self) -> None:
        """Start anew with the values of the last start; what was changed since is lost.

        Raises:
            ArmRefusedError: the memory cannot be written.
        """
        for slot, value in list(self._memory.items.items()):
            before = self._at_start.get(slot) or self._cell(slot).default
            if value != before:
                self._record(slot, before, None, None)

    def swap(self) -> None:
        """Let another arm of the model, with serial number and values of its own, take the place of this one for good.

        Raises:
            ArmRefusedError: the memory cannot be written.
        """
        self._write(Entry(serial_number(self._first_name, self.model), SWAPS, self._swaps + 1, None, None))
        self._start()

    def describe(self) -> Description:
        """What the arm is."""
        facts = MODELS[self.model]
        return Description(
            model=self.model,
            serial=self.serial,
            firmware=FIRMWARE,
            joints=tuple(JointInfo(joint.name, joint.type) for joint in facts.joints),
            hard_limits=facts.hard,
            hard_source="hard:device",
            payload_max=facts.payload_max,
            modes_settable=tuple(int(mode) for mode in MODES_SETTABLE),
            notes=(*_NOTES, *facts.notes),
            fence=(self._memory.last and self._memory.last.pair) or (0, 0),
        )

    def read(self, slot: Slot) -> Message:
        """The value of a slot as the arm keeps it.

        Raises:
            ArmRefusedError: no such slot.
        """
        return self._memory.items.get(slot) or self._cell(slot).default

    def read_all(self) -> Snapshot:
        """The values of all slots."""
        items = {slot: cell.default for slot, cell in self._cells.items()}
        return Snapshot(items | self._memory.items)

    def execute(self, command: Command) -> Message | None:
        """Carry out a command, or answer it again when it is the last one; a reset returns the new value.

        Raises:
            ArmRefusedError: refused, and nothing was taken.
        """
        pair = (command.epoch, command.cmd_seq)
        last = self._memory.last
        if last is not None and last.pair is not None and pair <= last.pair:
            return self._answer_again(command, pair, last)
        try:
            cell, value = self._decide(command)
        except ArmRefusedError as error:
            self._record(command.slot, None, pair, (error.code, error.sub_code, error.name, str(error)))
            raise
        self._write(Entry(self.serial, command.slot[0], command.slot[1], value, pair, None))
        self._tell(ArmChange(cell.event, command.slot, True, self._link))
        return value if command.verb is _RESET else None

    def change_by_another(self, slot: Slot, value: Message) -> None:
        """Another writer sets a slot.

        Raises:
            ArmRefusedError: refused, and nothing was taken.
        """
        cell = self._cell(slot)
        self._record(slot, _taken(cell, slot, value), None, None)
        self._tell(ArmChange(cell.event, slot, False, self._other))

    def _answer_again(self, command: Command, pair: tuple[int, int], last: Entry) -> Message | None:
        if pair != last.pair:
            raise refused("METHOD_FAILED", f"command {pair} is older than {last.pair}")
        if last.refusal is not None:
            raise ArmRefusedError(*last.refusal)
        answer: Message | None = last.value
        return answer if command.verb is Verb.RESET else None

    def _decide(self, command: Command) -> tuple[Cell, Message]:
        """The cell of a command and the value it would hold."""
        slot = command.slot
        cell = self._cells.get(slot) or self._cell(slot)
        if self.refuse is not None and self.refuse in (EVERY_SLOT, slot, (slot[0], 0)):
            raise refused("METHOD_FAILED", "simulated fault: refuse")
        if self.busy:
            raise ArmRefusedError(*_BUSY[self.busy], f"simulated fault: {self.busy}")
        if command.verb is _SET:
            return cell, _taken(cell, slot, command.value, half=self.clamp and ITEMS[slot[0]].order is Order.UPPER)
        if not cell.resettable:
            raise refused("UNSUPPORTED_METHOD", f"{slot[0]} cannot be reset")
        return cell, cell.default

    def _cell(self, slot: Slot) -> Cell:
        cell = self._cells.get(slot)
        if cell is not None:
            return cell
        if slot[0] in SOFT_LIMIT_MODES:
            raise refused("METHOD_FAILED", f"mode {slot[1]} takes no {slot[0]}")
        raise refused("UNSUPPORTED_METHOD", f"no config item {slot[0]}")

    def _record(self, slot: Slot, value: Message | None, pair: tuple[int, int] | None, refusal: Refusal | None) -> None:
        self._write(Entry(self.serial, slot[0], slot[1], value, pair, refusal))

    def _write(self, entry: Entry) -> None:
        try:
            self._store.record(entry)
        except OSError as error:
            raise ArmRefusedError(*_NVRAM_WRITE_FAIL, f"the arm's memory cannot be written: {error}") from error


def _taken(cell: Cell, slot: Slot, value: Message | None, *, half: bool = False) -> Message:
    """What the arm would keep of a value for a slot, or of half of it."""
    if type(value) is not type(cell.default):
        raise refused("INVALID_PARAM", f"{slot[0]}: {type(value).__name__} instead of {type(cell.default).__name__}")
    if slot[1] and getattr(value, "control_mode", 0) != slot[1]:
        raise refused("INVALID_PARAM", f"{slot[0]}: control_mode differs from slot {slot[1]}")
    return cell.take_half(value) if half else cell.take(value)

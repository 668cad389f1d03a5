"""Packets at random: illegal properties, damaged publishes, packets without a place, requests and births."""

import random
from collections.abc import Callable

from tests.fake_server import publish
from tests.odd_packets import ODD, PASSED_ON
from tests.raw_publish import frame

LARGE = 4_000
"""Properties of so many bytes are sent seldom: they would take all the time."""
DAMAGED_IDS = range(40_000, 60_000)
"""Packet ids of what is damaged; whether it is acknowledged cannot be told."""
PAYLOADS = (
    b"", b"{}", b"{", b"[1]", b"null", b"\x00", b"\xff\xfe{\x00}\x00", b"\xef\xbb\xbf{}", b"\x80", b"\x81\xa2id\xa1a",
    b"\x0a\x01a", b'{"id":"a"}', b'{"id":1e999}', b'{"id":"a","params":{"control_mode":"CARTESIAN_JOYSTICK"}}',
    b'{"session":1,"protocol":1}', b'{"id":"a","id":"b"}', b"{" * 2_000, b"9" * 5_000,
)  # fmt: skip
LEVELS = (
    b"alice",
    b"plc-1",
    b"r1",
    b"WhoAmI",
    b"GetControlMode",
    b"SetControlMode",
    b"@all",
    b".",
    b"x" * 70,
    "\u00fc".encode(),
)
METHODS = (
    b"WhoAmI",
    b"GetControlMode",
    b"GetKinematicSoftLimits",
    b"SetTwistLinearSoftLimit",
    b"NoSuch",
    b"GetHistory",
)
LEAVES = (b"birth", b"death", b"ack", b"report", b"cmd", b"other")


class Packets:
    """Makes packets for one link; `root` is the first topic levels, with the version."""

    def __init__(self, dice: random.Random, root: str, arm: str) -> None:
        self._dice = dice
        self._root = root.encode()
        self._arm = arm.encode()
        self._small = [one.properties for one in ODD.values() if len(one.properties) < LARGE]
        self._large = [one.properties for one in ODD.values() if len(one.properties) >= LARGE]
        self._whole = [one.properties for one in ODD.values() if one.told and len(one.properties) < LARGE]

    def request(self, packet_id: int) -> bytes:
        """A publish for the service's link, whole as a frame, that has to be acknowledged."""
        dice = self._dice
        if dice.random() < 0.3:
            topic = b"/".join((self._root, b"req", b"alice", b"plc-1", b"r1", dice.choice(METHODS)))
        else:
            levels = dice.choices(LEVELS, k=dice.choice((0, 1, 3, 4, 4, 4, 5)))
            topic = b"/".join((self._root, b"req", *levels))
        return self._odd(topic, packet_id)

    def word(self, packet_id: int) -> bytes:
        """A publish for the agents' link, whole as a frame, that has to be acknowledged."""
        arm = self._arm if self._dice.random() < 0.5 else self._dice.choice(LEVELS)
        return self._odd(b"/".join((self._root, b"dev", arm, self._dice.choice(LEAVES))), packet_id)

    def status(self, packet_id: int) -> bytes:
        """A publish for the link that looks for other services, whole as a frame, that has to be acknowledged."""
        return self._odd(b"/".join((self._root, b"svc", self._dice.choice(LEVELS))), packet_id)

    def passed_on(self, packet_id: int) -> bytes:
        """A publish for one of both links that Mosquitto is known to pass on, illegal as it may be."""
        levels: tuple[bytes, ...] = (b"req", b"alice", b"plc-1", b"r1", self._dice.choice(METHODS))
        if self._dice.random() < 0.5:
            levels = (b"dev", self._arm, self._dice.choice(LEAVES))
        properties = ODD[self._dice.choice(PASSED_ON)].properties
        payload = self._dice.choice(PAYLOADS)
        return publish(b"/".join((self._root, *levels)), payload, mid=packet_id, properties=properties)

    def damaged(self, make: Callable[[int], bytes]) -> bytes:
        """A publish whose inside is damaged; its frame is whole."""
        dice = self._dice
        whole = make(dice.choice(DAMAGED_IDS))
        at = 1
        while whole[at] >= 0x80:
            at += 1
        body = bytearray(whole[at + 1 : at + 400])
        for _ in range(dice.randint(1, 4)):
            position = dice.randrange(len(body) + 1)
            change = dice.random()
            if change < 0.4 and position < len(body):
                body[position] = dice.randrange(256)
            elif change < 0.7:
                del body[position : position + dice.randint(1, 8)]
            else:
                body[position:position] = dice.randbytes(dice.randint(1, 8))
        return frame(0x30 | dice.randrange(16), bytes(body))

    def out_of_place(self) -> bytes:
        """Any packet but a publish, an acknowledgement of one (it would be taken for true) and the end."""
        kind = self._dice.choice((0x0, 0x1, 0x2, 0x5, 0x6, 0x7, 0x8, 0x9, 0xA, 0xB, 0xC, 0xD, 0xF))
        return frame(
            kind << 4 | self._dice.randrange(16), self._dice.randbytes(self._dice.choice((0, 1, 2, 3, 9, 200)))
        )

    def _odd(self, topic: bytes, packet_id: int) -> bytes:
        dice = self._dice
        chance = dice.random()
        if chance < 0.002:
            properties = dice.choice(self._large)
        elif chance < 0.5:
            properties = dice.choice(self._small)
        else:
            properties = b"".join(dice.choices(self._whole, k=dice.randrange(4)))
        head = 0x30 | dice.choice((0, 0, 1, 8, 9))
        return publish(topic, dice.choice(PAYLOADS), mid=packet_id, properties=properties, head=head)

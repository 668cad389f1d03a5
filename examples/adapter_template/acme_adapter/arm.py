"""An Acme arm: what a maker's controller would be. `python -m acme_adapter.arm --port 4001` runs one.

It listens on TCP. A question is a line `ID VERB [WORD ...]`, its answer `ID ok [WORD ...]` or `ID no REASON`; what the
arm tells unasked is a line `* WORD ...`. Numbers are decimal.

    1 who                        1 ok acme_3 A-17 1.4 60 60 90
    2 get payload                2 ok 0.0 0.0 0.0 0.0
    3 set payload 0.5 0 0 0.1    3 ok                                * payload   (to all other connections)
    4 reset payload              4 ok 0.0 0.0 0.0 0.0
    5 set payload 9 0 0 0        5 no too_large
    6 state                      6 ok ready                          * state moving
"""

import argparse
import asyncio
import math
import sys

FACTORY: dict[str, tuple[float, ...]] = {
    "payload": (0.0, 0.0, 0.0, 0.0),
    "gravity": (0.0, 0.0, -9.81),
    "speed_jog": (0.25,),
    "speed_move": (0.5,),
    "speed_force": (0.1,),
}
"""Names and factory values: kg and m, m/s², m/s."""
MOST = {"payload": 5.0, "gravity": 20.0, "speed_jog": 0.25, "speed_move": 1.0, "speed_force": 0.25}
"""The largest number of each."""
SPEEDS = (60.0, 60.0, 90.0)
"""Hard limits of the joints, deg/s."""


class Arm:
    """One arm; the attributes below are what a test bench sets to let it misbehave."""

    def __init__(self, serial: str = "A-17") -> None:
        self.serial = serial
        self.values = dict(FACTORY)
        self.at_start = dict(FACTORY)
        self.moving = False
        self.refuses = False
        self.garbles = False
        self.loses_answers = False
        self.delay_s = 0.0
        self.port = 0
        self._answers = asyncio.Event()
        self._answers.set()
        self._server: asyncio.Server | None = None
        self._writers: set[asyncio.StreamWriter] = set()

    @property
    def listening(self) -> bool:
        """Whether it can be reached."""
        return self._server is not None and self._server.is_serving()

    async def listen(self, port: int = 0) -> None:
        """Listen on a port of this host; `port` tells which."""
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", port)
        self.port = self._server.sockets[0].getsockname()[1]

    def vanish(self) -> None:
        """Drop all connections and listen no more."""
        if self._server is not None:
            self._server.close()
        for writer in self._writers:
            writer.transport.abort()

    def hang(self, *, hung: bool) -> None:
        """Neither act nor answer until told otherwise."""
        if hung:
            self._answers.clear()
        else:
            self._answers.set()

    def move(self, *, moving: bool) -> None:
        """Begin or end to move."""
        if moving != self.moving:
            self.moving = moving
            self._tell(f"state {'moving' if moving else 'ready'}")

    def change(self, name: str, values: tuple[float, ...], by: asyncio.StreamWriter | None = None) -> None:
        """Take values, and tell everybody but who sent them."""
        self.values[name] = values
        self._tell(name, but=by)

    def _tell(self, words: str, but: asyncio.StreamWriter | None = None) -> None:
        for writer in self._writers - {but}:
            writer.write(f"* {words}\n".encode())

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self._writers.add(writer)
        try:
            while line := await reader.readline():
                await self._answers.wait()
                number, verb, *words = line.decode().split()
                answer = f"{number} {self._answer(verb, words, writer)}\n".encode()
                if self.delay_s:
                    await asyncio.sleep(self.delay_s)
                if self.garbles:
                    answer = b"\xff\xfe!!\n"
                if not (self.loses_answers and verb in ("set", "reset")):
                    writer.write(answer)
        except (ConnectionError, asyncio.CancelledError):
            return
        finally:
            self._writers.discard(writer)
            writer.close()

    def _answer(self, verb: str, words: list[str], by: asyncio.StreamWriter) -> str:
        match verb, words:
            case "who", []:
                return f"ok acme_3 {self.serial} 1.4 {' '.join(map(str, SPEEDS))}"
            case "state", []:
                return f"ok {'moving' if self.moving else 'ready'}"
            case "get", [name] if name in FACTORY:
                return f"ok {_text(self.values[name])}"
            case ("set", [name, *_]) | ("reset", [name]) if name in FACTORY:
                if self.refuses or self.moving:
                    return "no moving" if self.moving else "no service_door"
                values = FACTORY[name] if verb == "reset" else tuple(map(float, words[1:]))
                if len(values) != len(FACTORY[name]) or not all(map(math.isfinite, values)):
                    return "no malformed"
                if any(abs(value) > MOST[name] for value in values):
                    return "no too_large"
                self.change(name, values, by)
                return f"ok {_text(values)}" if verb == "reset" else "ok"
        return "no unknown"


def _text(values: tuple[float, ...]) -> str:
    return " ".join(map(str, values))


async def _run(port: int) -> None:
    arm = Arm()
    await arm.listen(port)
    sys.stdout.write(f"listening on port {arm.port}\n")
    sys.stdout.flush()
    await asyncio.Event().wait()


def main() -> None:
    """Run one arm until it is killed."""
    parser = argparse.ArgumentParser(description="An Acme arm on a TCP port of this host.")
    parser.add_argument("--port", type=int, default=4001, help="0: any that is free")
    asyncio.run(_run(parser.parse_args().port))


if __name__ == "__main__":
    main()

"""Fuzz of both links of a whole service, by a server that passes on anything and by clients of a real Mosquitto."""

import asyncio
import random
import re
from collections.abc import Callable
from pathlib import Path
from typing import NamedTuple

from tests.campaigns.defects import VARIABLE
from tests.campaigns.figures import Figures
from tests.campaigns.fuzz_packets import Packets
from tests.campaigns.people import dice_of
from tests.campaigns.places import folders
from tests.fake_server import CONNECT, PUBLISH, SUBSCRIBE, FakeServer, Peer, publish
from tests.journey.client import Client
from tests.journey.processes import ServiceProcess
from tests.mosquitto import Mosquitto
from tests.raw_publish import PINGREQ, PINGRESP, frame, text

ROUND = 1_000
"""Packets to each link between two looks at whether it still does its work."""
SHARE = 50
"""One packet of so many goes through a real Mosquitto."""
TOGETHER = 20
"""Packets that a client sends before it asks whether Mosquitto still listens: the first illegal one ends it."""
WARM = 0.3
"""Memory is compared with what it was after this part of the packets."""
MOST_MEMORY = 1.1
MEASURED_FROM = 200_000
"""With fewer packets memory has not settled."""
PATIENCE_S = 120.0
POLL_S = 0.005
SENTINEL = 65_000
NAME, AGENT = "fuzz", "m1"
LINKS = (f"service-{NAME}", f"service-{NAME}-dev", "presence")
"""The client ids of the links; that of the third one is another at each start."""
USER, CONN = "eve", "eve-1"
_PRESENCE_ID = re.compile(f"service-{NAME}-[0-9a-f]{{8}}".encode())
_AGENT_TABLE = f'[[arm]]\nid = "{AGENT}"\nadapter = "mqtt_agent"\n'


def run(trials: int, seed: int, defect: str = "") -> Figures:
    """See `CampaignRow`; a trial is a packet from the fake server, and a share more go through Mosquitto."""
    figures = Figures(trials)
    for number, folder in folders(2):
        trial = Trial(folder, dice_of(seed + number / 2), defect, figures)
        asyncio.run(trial.from_clients(max(1, trials // SHARE)) if number else trial.from_a_server(trials))
    return figures


class End(NamedTuple):
    """One link as the server sees it, and what makes packets for it."""

    peer: Peer
    make: Callable[[int], bytes]


class Trial:
    """One service, to be fuzzed."""

    def __init__(self, folder: Path, dice: random.Random, defect: str, figures: Figures) -> None:
        self._dice, self._defect, self._figures = dice, defect, figures
        self._folder = folder
        self._mosquitto = Mosquitto(folder)
        self._packets = Packets(dice, f"{NAME}/v1", AGENT)
        self._memory: list[float] = []

    async def from_a_server(self, count: int) -> None:
        """Both links are sent packets of every kind, each whole as a frame."""
        async with FakeServer() as server:
            server.answer = lambda head, body: server.polite(head, body) + _echo(head, body)
            process = self._start(server.port)
            try:
                ends = await self._ends(server)
                for number in range(-(-count // (len(LINKS) * ROUND))):
                    if not await self._round(ends, number):
                        break
                    self._memory.append(_memory_mb(process.pid))
            finally:
                await self._judge(process)
        self._figures.count("packets of a fake server", count)
        self._judge_memory(count)

    async def from_clients(self, count: int) -> None:
        """Clients publish through a real Mosquitto what it passes on, and what it does not."""
        mosquitto = self._mosquitto.start()
        process = self._start(mosquitto.port)
        try:
            client = Client(mosquitto.port, f"{NAME}/v1", USER, CONN)
            async with client, asyncio.timeout(PATIENCE_S + count / 50):
                await client.subscribe("svc/+")
                await client.document("svc/main", lambda document: document["state"] == "online")
                for _ in range(-(-count // ROUND)):
                    await self._publish(min(ROUND, count))
                    reply = await client.call("r1", "WhoAmI")
                    self._figures.expect(reply["ok"], f"{reply}")
        except TimeoutError:
            self._figures.wrong.append("Mosquitto: no reply")
        finally:
            await self._judge(process)
            mosquitto.stop()
        for link in LINKS[:2]:
            connections = mosquitto.log.count(f" as {link} (")
            self._figures.expect(connections == 1, f"{link} connected {connections} times to Mosquitto")
        self._figures.count("packets of clients", count)
        self._figures.count("of these passed on", mosquitto.log.count(f"Sending PUBLISH to service-{NAME}"))

    def _start(self, port: int) -> ServiceProcess:
        module = "tests.campaigns.defects" if self._defect else "armbroker"
        process = ServiceProcess(
            self._mosquitto, self._folder, NAME, ["r1"], more=_AGENT_TABLE, module=module, port=port
        )
        return process.start(environment={VARIABLE: self._defect} if self._defect else {})

    # ------------------------------------------------------------------ the fake server

    async def _ends(self, server: FakeServer) -> list[End]:
        """The service's link, that of the agents and that of its presence, all subscribed."""
        peers: dict[str, Peer] = {}
        async with asyncio.timeout(PATIENCE_S):
            while not peers.keys() >= set(LINKS):
                await asyncio.sleep(POLL_S)
                peers = {_link_of(peer): peer for peer in server.peers if peer.said(SUBSCRIBE)}
        makers = (self._packets.request, self._packets.word, self._packets.status)
        return [End(peers[link], make) for link, make in zip(LINKS, makers, strict=True)]

    async def _round(self, ends: list[End], number: int) -> bool:
        """Send both their share and something whole behind it; whether it was answered."""
        leaf = f"s{number}"
        request = publish(
            f"{NAME}/v1/req/{USER}/{CONN}/r1/WhoAmI".encode(), b'{"id":"%s"}' % leaf.encode(), mid=SENTINEL
        )
        report = publish(f"{NAME}/v1/dev/{AGENT}/report".encode(), b"{}", mid=SENTINEL)
        status = publish(f"{NAME}/v1/svc/{leaf}".encode(), b"{}", mid=SENTINEL)
        reply = text(f"{NAME}/v1/res/{USER}/{CONN}/{leaf}".encode())
        wanted: list[set[int]] = []
        for end, last in zip(ends, (request, report, status), strict=True):
            end.peer.packets.clear()
            data, ids = self._some(end.make)
            wanted.append({*ids, SENTINEL})
            self._send_in_pieces(end.peer, data + last)
        acked = [False]
        try:
            async with asyncio.timeout(PATIENCE_S):
                while not (all(acked) and any(body.startswith(reply) for body in ends[0].peer.said(PUBLISH))):
                    if any(end.peer.lost.is_set() for end in ends):
                        break
                    await asyncio.sleep(POLL_S)
                    acked = [SENTINEL in end.peer.acked for end in ends]
        except TimeoutError:
            self._figures.wrong.append(f"round {number}: no answer")
            return False
        lost = sum(end.peer.lost.is_set() for end in ends)
        self._figures.count("lost links", lost)
        self._figures.expect(not lost, f"round {number}: {lost} links lost")
        for end, owed in zip(ends, wanted, strict=True):
            missing = owed - set(end.peer.acked)
            self._figures.expect(not missing, f"round {number}: not acknowledged: {sorted(missing)[:5]}")
        return not self._figures.wrong

    def _some(self, make: Callable[[int], bytes]) -> tuple[bytes, list[int]]:
        """A round of packets for one link, and the packet ids that it has to acknowledge."""
        parts: list[bytes] = []
        ids: list[int] = []
        for packet_id in range(1, ROUND + 1):
            chance = self._dice.random()
            if chance < 0.4:
                parts.append(make(packet_id))
                ids.append(packet_id)
            elif chance < 0.75:
                parts.append(self._packets.damaged(make))
            else:
                parts.append(self._packets.out_of_place())
        return b"".join(parts), ids

    def _send_in_pieces(self, peer: Peer, data: bytes) -> None:
        at = 0
        while at < len(data):
            size = self._dice.choice((1, 100, 1_460, 20_000, 65_536))
            peer.send(data[at : at + size])
            at += size

    # ------------------------------------------------------------------ a real Mosquitto

    async def _publish(self, count: int) -> None:
        """Publish as a client that is connected anew whenever Mosquitto has had enough."""
        left = count
        while left > 0:
            reader, writer = await asyncio.open_connection("127.0.0.1", self._mosquitto.port)
            writer.write(frame(CONNECT, text(b"MQTT") + b"\x05\x02\x00\x3c\x00" + text(b"")))
            try:
                while left > 0:
                    writer.write(b"".join(self._published() for _ in range(TOGETHER)) + frame(PINGREQ, b""))
                    left -= TOGETHER
                    async with asyncio.timeout(PATIENCE_S):
                        await reader.readuntil(frame(PINGRESP, b""))
            except (asyncio.IncompleteReadError, ConnectionError):
                self._figures.count("clients that Mosquitto ended")
            finally:
                writer.transport.abort()

    def _published(self) -> bytes:
        packets, chance = self._packets, self._dice.random()
        if chance < 0.95:
            return packets.passed_on(self._dice.randrange(1, 60_000))
        make = packets.request if self._dice.random() < 0.5 else packets.word
        return make(1) if chance < 0.98 else packets.damaged(make)

    # ------------------------------------------------------------------ verdict

    async def _judge(self, process: ServiceProcess) -> None:
        """The process lives, ends when it is told to, and its log shows no fault of its own."""
        code = await process.stop()
        self._figures.expect(code == 0, f"exit code {code}")
        tracebacks = process.log.count("Traceback") + process.log.count("request_failed")
        self._figures.count("tracebacks", tracebacks)
        self._figures.expect(not tracebacks, f"the log holds {tracebacks} tracebacks")
        process.kill()

    def _judge_memory(self, count: int) -> None:
        """It stays what it was when warm."""
        if not self._memory:
            return
        warm, last = self._memory[int(len(self._memory) * WARM)], self._memory[-1]
        self._figures.numbers |= {"memory, warm, MB": warm, "memory, last, MB": last}
        flat = last <= warm * MOST_MEMORY or count < MEASURED_FROM
        self._figures.expect(flat, f"memory grew from {warm} to {last} MB")


def _link_of(peer: Peer) -> str:
    """Which of `LINKS` a connection is; empty for one that the service makes for a while."""
    connect = peer.said(CONNECT)[0]
    if _PRESENCE_ID.search(connect):
        return LINKS[-1]
    return next((link for link in LINKS if text(link.encode()) in connect), "")


def _echo(head: int, body: bytes) -> bytes:
    """What a service says of itself comes back to it, as it is subscribed to that."""
    size = int.from_bytes(body[:2])
    topic = body[2 : 2 + size]
    is_status = head & 0xF0 == PUBLISH and topic.startswith(f"{NAME}/v1/svc/".encode())
    return frame(PUBLISH, text(topic) + body[4 + size :]) if is_status else b""


def _memory_mb(pid: int) -> float:
    """Resident memory of a process."""
    status = Path(f"/proc/{pid}/status").read_text()
    line = next(line for line in status.splitlines() if line.startswith("VmRSS"))
    return round(int(line.split()[1]) / 1024, 1)

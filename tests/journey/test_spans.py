"""Traced requests have spans at a collector that speaks the protocol of OpenTelemetry."""

import itertools
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from queue import Queue

import pytest
from opentelemetry.proto.collector.trace.v1.trace_service_pb2 import ExportTraceServiceRequest
from opentelemetry.proto.trace.v1.trace_pb2 import Span, Status

from tests.journey.conftest import ClientMaker
from tests.journey.test_traces import OTHER, TRACE, TWIST, publish
from tests.links import peer

pytestmark = pytest.mark.mqtt
PARENT = TRACE.split("-")


class Collector(ThreadingHTTPServer):
    """Takes spans over HTTP."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Taker)
        self.taken: Queue[ExportTraceServiceRequest] = Queue()

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/v1/traces"

    def spans(self) -> dict[str, Span]:
        """All that was taken, by name."""
        found: dict[str, Span] = {}
        while not self.taken.empty():
            for resource in self.taken.get().resource_spans:
                attributes = {each.key: each.value.string_value for each in resource.resource.attributes}
                assert (attributes["service.name"], attributes["service.instance.id"]) == ("armbroker", "main")
                found |= {span.name: span for scope in resource.scope_spans for span in scope.spans}
        return found


class _Taker(BaseHTTPRequestHandler):
    server: Collector

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.taken.put(ExportTraceServiceRequest.FromString(body))
        self.send_response(200)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing."""


@pytest.fixture
def collector() -> Iterator[Collector]:
    with Collector() as one:
        thread = threading.Thread(target=one.serve_forever)
        thread.start()
        yield one
        one.shutdown()
        thread.join()


async def test_a_traced_request_has_spans_of_its_answer_and_its_change(
    start_service: ClientMaker, connect: ClientMaker, collector: Collector
) -> None:
    service = start_service("r1", traces={"otlp": collector.address})
    client = await connect(to=service, user="tina", conn="tina-1")
    async with peer(service.port, "tracer") as tracer:
        start = f"{service.root}/req/tina/tina-1/r1"
        await publish(tracer, f"{start}/SetTwistLinearSoftLimit", b'{"id": "t1", ' + TWIST + b"}", TRACE)
        await client.reply("t1")
        await publish(tracer, f"{start}/NoSuch", b'{"id": "t2"}', TRACE)
        await client.reply("t2")
        await publish(tracer, f"{start}/GetGravityVector", b'{"id": "t3"}', OTHER)  # not sampled
        await client.reply("t3")
        await client.call("r1", "GetToolConfiguration", {})
    service.stop()
    spans = collector.spans()
    assert set(spans) == {
        "SetTwistLinearSoftLimit", "NoSuch", "change twist_linear_soft_limit", "store", "queue", "arm", "settle"
    }  # fmt: skip
    assert {span.trace_id.hex() for span in spans.values()} == {PARENT[1]}
    change, answer = spans["change twist_linear_soft_limit"], spans["SetTwistLinearSoftLimit"]
    assert {answer.parent_span_id.hex(), change.parent_span_id.hex()} == {PARENT[2]}
    stages = [spans[name] for name in ("store", "queue", "arm", "settle")]
    assert {stage.parent_span_id for stage in stages} == {change.span_id}
    assert change.start_time_unix_nano == stages[0].start_time_unix_nano <= stages[-1].end_time_unix_nano
    assert change.end_time_unix_nano == stages[-1].end_time_unix_nano
    for earlier, later in itertools.pairwise(stages):
        assert abs(earlier.end_time_unix_nano - later.start_time_unix_nano) < 10_000_000, "they follow each other"
    told = {each.key: each.value for each in change.attributes}
    assert (told["armbroker.outcome"].string_value, told["armbroker.rev"].int_value) == ("applied", 2)
    refused = spans["NoSuch"]
    assert (refused.status.code, answer.status.code) == (Status.STATUS_CODE_ERROR, Status.STATUS_CODE_UNSET)
    assert {each.key: each.value.string_value for each in refused.attributes}["error.type"] == "unknown_method"


async def test_without_its_collector_the_service_goes_on_as_ever(
    start_service: ClientMaker, connect: ClientMaker, collector: Collector
) -> None:
    collector.server_close()
    service = start_service("r1", traces={"otlp": collector.address})
    client = await connect(to=service, user="tina", conn="tina-1")
    async with peer(service.port, "tracer") as tracer:
        start = f"{service.root}/req/tina/tina-1/r1"
        await publish(tracer, f"{start}/SetTwistLinearSoftLimit", b'{"id": "t1", ' + TWIST + b"}", TRACE)
        assert (await client.reply("t1"))["stage"] == "applied"
    service.stop()

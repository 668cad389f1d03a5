"""Spans of traced requests for an OpenTelemetry collector; loaded only where `[traces]` asks for it.

A request whose `traceparent` is sampled has a span from its receipt to its answer; a change of it another one from its
receipt to the commit of its end, with one for each stage below. Both are children of what the `traceparent` names.
"""

from collections.abc import Callable, Iterable
from itertools import pairwise
from typing import NamedTuple

from opentelemetry.exporter.otlp.proto.http.trace_exporter import OTLPSpanExporter
from opentelemetry.sdk.resources import Resource
from opentelemetry.sdk.trace import TracerProvider
from opentelemetry.sdk.trace.export import BatchSpanProcessor, SpanExporter
from opentelemetry.sdk.trace.sampling import ALWAYS_OFF, ParentBased
from opentelemetry.trace import SpanKind, StatusCode, Tracer, set_span_in_context
from opentelemetry.trace.propagation.tracecontext import TraceContextTextMapPropagator

from broker.arms.jobs import Address, ChangeJob
from broker.record.traffic import ARM, QUEUE, SETTLE, STORE
from broker.trace import NAME
from broker.version import service_version
from schema.envelope import Reply

_GIGA = 1_000_000_000
_SEND_S = 3.0
"""How long one sending may take."""
_propagator = TraceContextTextMapPropagator()


def exporter(address: str) -> SpanExporter:
    """What sends spans to a collector, OTLP over HTTP."""
    return OTLPSpanExporter(endpoint=address, timeout=_SEND_S)


class Spans:
    """Makes spans of what is done already; a thread of the exporter's own sends them.

    Args:
        send: what spans are given to.
        instance: the instance of the service.
        wall_us: service time in µs since 1970.
        monotonic: seconds of the monotonic clock, on which jobs and messages have their times.
    """

    def __init__(
        self, send: SpanExporter, instance: str, wall_us: Callable[[], int], monotonic: Callable[[], float]
    ) -> None:
        about = {"service.name": "armbroker", "service.instance.id": instance, "service.version": service_version()}
        self._provider = TracerProvider(sampler=ParentBased(ALWAYS_OFF), resource=Resource(about))
        self._provider.add_span_processor(BatchSpanProcessor(send))
        self._tracer: Tracer = self._provider.get_tracer("armbroker", service_version())
        self._wall_us, self._monotonic = wall_us, monotonic

    def answered(self, address: Address, reply: Reply) -> None:
        """A traced request was answered; of one of an earlier run nobody knows when it came."""
        if address.received_s <= 0.0:
            return
        attributes: dict[str, str | int] = {
            "messaging.system": "mqtt",
            "messaging.operation.name": reply.method,
            "enduser.id": address.user,
            "armbroker.arm": reply.arm,
            "armbroker.request.id": reply.id,
            "armbroker.codec": address.codec,
            "armbroker.stage": reply.stage.value,
            "armbroker.rev": reply.rev,
        }
        times = self._times()
        parent, begun = _propagator.extract({NAME: address.trace}), times.of(address.received_s)
        span = self._tracer.start_span(reply.method, parent, SpanKind.SERVER, attributes, start_time=begun)
        if reply.error is not None:
            span.set_attribute("error.type", reply.error.kind)
            span.set_status(StatusCode.ERROR, reply.error.message)
        span.end(times.now)

    def ended(self, jobs: Iterable[ChangeJob], committed_s: float) -> None:
        """The ends of changes were committed; those that are traced have spans."""
        times = self._times()
        for job in jobs:
            if job.trace:
                self._change(job, committed_s, times)

    def close(self) -> None:
        """Send what is left; without a collector that takes a moment."""
        self._provider.shutdown()

    def _change(self, job: ChangeJob, committed_s: float, times: "_Times") -> None:
        moments = (job.received_s, job.stored_s, job.written_s, job.ended_s, committed_s)
        began_s = next(moment for moment in moments if moment > 0.0)
        attributes: dict[str, str | int] = {
            "armbroker.item": job.item.key,
            "armbroker.rev": job.rev,
            "armbroker.request.id": job.request_id,
            "armbroker.outcome": job.outcome,
        }
        name, parent = f"change {job.item.key}", _propagator.extract({NAME: job.trace})
        begun = times.of(began_s)
        span = self._tracer.start_span(name, parent, SpanKind.INTERNAL, attributes, start_time=begun)
        below = set_span_in_context(span)
        for stage, (start_s, end_s) in zip((STORE, QUEUE, ARM, SETTLE), pairwise(moments), strict=True):
            if 0.0 < start_s <= end_s:
                self._tracer.start_span(stage, below, start_time=times.of(start_s)).end(times.of(end_s))
        span.end(times.of(committed_s))

    def _times(self) -> "_Times":
        now_s = self._monotonic()
        return _Times(self._wall_us() * 1_000, now_s)


class _Times(NamedTuple):
    """Now: in ns since 1970, and in seconds of the monotonic clock."""

    now: int
    now_s: float

    def of(self, moment_s: float) -> int:
        """A time of the monotonic clock in ns since 1970."""
        return self.now - int((self.now_s - moment_s) * _GIGA)

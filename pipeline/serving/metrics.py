"""Counts and times of a server, as Prometheus reads them."""

from collections.abc import Callable

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    ProcessCollector,
    disable_created_metrics,
    generate_latest,
)

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)
SENTENCES = (1, 2, 4, 8, 16, 32, 64)


class Metrics:
    """The metrics of one server; no label holds anything that a client can choose."""

    def __init__(self) -> None:
        disable_created_metrics()  # type: ignore[no-untyped-call]  # a time for each counter, which nobody reads
        registry = self.registry = CollectorRegistry()
        ProcessCollector(registry=registry)
        self.requests = Counter("nmt_requests", "Requests answered.", ["route", "status"], registry=registry)
        self.request_seconds = Histogram(
            "nmt_request_seconds", "Time from a request to its answer.", ["route"], buckets=SECONDS, registry=registry
        )
        self.sentences = Counter("nmt_sentences", "Sentences done by workers.", ["system"], registry=registry)
        self.batch_sentences = Histogram(
            "nmt_batch_sentences", "Sentences of a batch.", buckets=SENTENCES, registry=registry
        )
        self.batch_seconds = Histogram(
            "nmt_batch_seconds", "Time that a worker took for a batch.", buckets=SECONDS, registry=registry
        )
        self.worker_restarts = Counter("nmt_worker_restarts", "Workers that died and were replaced.", registry=registry)
        self.queued = Gauge("nmt_queued_sentences", "Sentences that wait for a worker.", registry=registry)
        self.workers = Gauge("nmt_workers", "Workers that are running.", registry=registry)

    def watch(self, queued: Callable[[], float], workers: Callable[[], float]) -> None:
        """Read these when the metrics are asked for."""
        self.queued.set_function(queued)
        self.workers.set_function(workers)

    def request(self, route: str, status: int, seconds: float) -> None:
        """Count an answered request."""
        self.requests.labels(route, str(status)).inc()
        self.request_seconds.labels(route).observe(seconds)

    def batch(self, system: str, number: int, seconds: float) -> None:
        """Count a batch that was done."""
        self.sentences.labels(system).inc(number)
        self.batch_sentences.observe(number)
        self.batch_seconds.observe(seconds)

    def text(self) -> bytes:
        """All of them in Prometheus's text format."""
        return generate_latest(self.registry)

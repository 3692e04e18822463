"""Counts and times of a server, as Prometheus reads them; no label holds anything that a client can choose."""

from prometheus_client import CollectorRegistry, Counter, Gauge, Histogram, ProcessCollector

SECONDS = (0.005, 0.01, 0.025, 0.05, 0.1, 0.25, 0.5, 1.0, 2.5, 5.0, 10.0, 30.0, 60.0)


class Metrics:
    """The metrics of one server."""

    def __init__(self) -> None:
        self.registry = CollectorRegistry()
        ProcessCollector(registry=self.registry)
        self.requests = Counter("nmt_requests", "Requests answered.", ["status"], registry=self.registry)
        self.seconds = Histogram("nmt_request_seconds", "Time to an answer.", buckets=SECONDS, registry=self.registry)
        self.sentences = Counter("nmt_sentences", "Sentences translated.", ["system"], registry=self.registry)
        self.batches = Histogram("nmt_batch_seconds", "Time of a batch.", buckets=SECONDS, registry=self.registry)
        self.waiting = Gauge("nmt_waiting_sentences", "Sentences that wait.", registry=self.registry)

    def request(self, status: int, seconds: float) -> None:
        """Count an answered request."""
        self.requests.labels(str(status)).inc()
        self.seconds.observe(seconds)

    def batch(self, system: str, sentences: int, seconds: float) -> None:
        """Count a batch."""
        self.sentences.labels(system).inc(sentences)
        self.batches.observe(seconds)

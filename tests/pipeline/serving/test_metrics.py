"""Counts and times."""

from pipeline.serving.metrics import Metrics


def test_what_is_counted():
    metrics = Metrics()
    metrics.watch(lambda: 7, lambda: 2)
    metrics.request("/translate", 200, 0.02)
    metrics.batch("one", 5, 0.1)
    metrics.batch("one", 3, 0.1)
    lines = metrics.text().decode().splitlines()
    for line in (
        'nmt_requests_total{route="/translate",status="200"} 1.0',
        'nmt_request_seconds_bucket{le="0.025",route="/translate"} 1.0',
        'nmt_sentences_total{system="one"} 8.0',
        'nmt_batch_sentences_bucket{le="4.0"} 1.0',
        "nmt_batch_seconds_count 2.0",
        "nmt_queued_sentences 7.0",
        "nmt_workers 2.0",
    ):
        assert line in lines


def test_two_servers_count_apart():
    one, other = Metrics(), Metrics()
    one.worker_restarts.inc()
    assert b"nmt_worker_restarts_total 0.0" in other.text()

"""Metrics of the server for Prometheus, at /metrics."""

from prometheus_client import (
    CollectorRegistry,
    Counter,
    Gauge,
    Histogram,
    PlatformCollector,
    ProcessCollector,
)
from starlette.types import Scope

SIZES = (1, 2, 4, 8, 16, 32, 64, 128, 256)


class ServerMetrics:
    """The metrics of one server. Paths are those of the routes; unknown ones count as `other`."""

    def __init__(self) -> None:
        self.registry = result = CollectorRegistry()
        ProcessCollector(registry=result)
        PlatformCollector(registry=result)
        self.requests = Counter(
            "glassformer_requests", "Requests answered.", ("path", "status"), registry=result
        )
        self.seconds = Histogram(
            "glassformer_request_seconds", "From request to answer.", ("path",), registry=result
        )
        self.under_way = Gauge("glassformer_requests_under_way", "Now.", registry=result)
        self.batches = Histogram(
            "glassformer_batch_sentences",
            "Sentences translated together.",
            buckets=SIZES,
            registry=result,
        )
        self.working = Counter("glassformer_batch_seconds", "Spent translating.", registry=result)
        self.waiting = Gauge(
            "glassformer_sentences_waiting", "Accepted, not begun.", registry=result
        )
        self.loaded = Gauge("glassformer_models_loaded", "Models in memory.", registry=result)
        self.replaced = Counter(
            "glassformer_processes_replaced", "Translating processes that died.", registry=result
        )
        self.hits = Gauge("glassformer_answers_hits", "Sentences from the cache.", registry=result)
        self.misses = Gauge("glassformer_answers_misses", "Not in the cache.", registry=result)
        self.cached = Gauge("glassformer_answers_bytes", "Of the cache.", registry=result)
        self.kept = Gauge("glassformer_recordings_bytes", "Of recordings kept.", registry=result)

    def observe_request(self, scope: Scope, status: int, seconds: float) -> None:
        """Count an answer; `scope` is the request's, in which the router has noted its route."""
        path = getattr(scope.get("route"), "path", "other") or "app"
        if scope["path"].startswith("/api/") and not path.startswith("/api/"):
            path = f"/api/{path.lstrip('/')}"
        self.requests.labels(path, str(status)).inc()
        self.seconds.labels(path).observe(seconds)

    def observe_batch(self, size: int, seconds: float) -> None:
        self.batches.observe(size)
        self.working.inc(seconds)

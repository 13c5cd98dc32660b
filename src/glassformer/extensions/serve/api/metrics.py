"""The metrics of the server for Prometheus, at /metrics."""

from fastapi import APIRouter, Response
from prometheus_client import CONTENT_TYPE_LATEST, generate_latest

from ..service.service import TheService

router = APIRouter(tags=["operation"])


@router.get("/metrics", response_class=Response)
def get_metrics(service: TheService) -> Response:
    """Return all metrics in the format of Prometheus."""
    metrics = service.metrics
    metrics.waiting.set(service.batcher.waiting)
    metrics.loaded.set(sum(map(service.model_pool.is_loaded, service.model_pool.models.values())))
    metrics.kept.set(service.recordings.size)
    answers = service.batcher.answers
    metrics.hits.set(answers.hits)
    metrics.misses.set(answers.misses)
    metrics.cached.set(answers.size)
    return Response(generate_latest(metrics.registry), media_type=CONTENT_TYPE_LATEST)

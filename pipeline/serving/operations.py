"""Routes for who runs the server: is it alive, can it translate, what has it done."""

from fastapi import APIRouter, Request
from starlette.responses import JSONResponse, Response

from pipeline.serving import security
from pipeline.serving.errors import ServingError
from pipeline.serving.metrics import CONTENT_TYPE
from pipeline.serving.requests import service_of

router = APIRouter()
PROBES = ["GET", "HEAD"]  # some that balance load ask with HEAD


@router.api_route("/health", methods=PROBES)
async def health() -> JSONResponse:
    """The server is alive; LibreTranslate's answer."""
    return JSONResponse({"status": "ok"})


@router.api_route("/ready", methods=PROBES)
async def ready(request: Request) -> JSONResponse:
    """The server can translate: a worker has loaded all systems.

    Raises: ServingError (503).
    """
    service = service_of(request)
    if not service.workers.running:
        raise ServingError(503, "server: no worker has loaded the models; expected another try", 2)
    return JSONResponse(
        {"status": "ready", "systems": [one.id for one in service.systems.all], "queued": service.queue.waiting}
    )


@router.get("/metrics")
async def metrics(request: Request) -> Response:
    """Prometheus's text format; with a key if the server has keys."""
    service = service_of(request)
    service.keys.check(security.key_in(request.headers))
    return Response(service.metrics.text(), media_type=CONTENT_TYPE)

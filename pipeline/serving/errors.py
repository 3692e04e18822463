"""A request that cannot be answered: its status, and what its client is told."""

from typing import Any

from starlette.responses import JSONResponse

LEFT = 499  # as nginx logs a client that left
DEEPL = "/v2/"  # paths below it answer in DeepL's form


class ServingError(ValueError):
    """A refusal: an HTTP status, a message, and after how many seconds to try again, if that may help."""

    def __init__(self, status: int, message: str, retry_seconds: int | None = None) -> None:
        super().__init__(message)
        self.status, self.message, self.retry_seconds = status, message, retry_seconds


def response(path: str, error: ServingError) -> JSONResponse:
    """The answer to a refused request: `error` as LibreTranslate says it, `message` as DeepL does."""
    headers = {} if error.retry_seconds is None else {"Retry-After": str(error.retry_seconds)}
    return JSONResponse(body(path, error), error.status, headers)


def body(path: str, error: ServingError) -> dict[str, Any]:
    """The body of the answer."""
    return {"message" if path.startswith(DEEPL) else "error": error.message}

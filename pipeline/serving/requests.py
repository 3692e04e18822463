"""A request on its way: admitted by its key and its client's limits, given up when the client leaves."""

import asyncio
import ipaddress
from collections.abc import AsyncIterator, Awaitable, Sequence
from contextlib import asynccontextmanager
from typing import TypeVar

from starlette.requests import Request

from pipeline.serving import bodies, security
from pipeline.serving.errors import LEFT, ServingError
from pipeline.serving.service import Service

T = TypeVar("T")


def service_of(request: Request) -> Service:
    """The service that the application holds."""
    service = request.app.state.service
    assert isinstance(service, Service)
    return service


@asynccontextmanager
async def admitted(request: Request) -> AsyncIterator[bodies.Fields]:
    """The fields of a request whose client may ask; it counts as the client's until the block ends.

    Raises: ServingError (403, 408, 415, 422, 429).
    """
    fields = await enter(request)
    try:
        yield fields
    finally:
        leave(request)


@asynccontextmanager
async def counted(request: Request) -> AsyncIterator[None]:
    """A block in which a request counts as that of its address; no key is needed, and none is looked at.

    Raises: ServingError (429).
    """
    identify(request, None)
    service_of(request).clients.enter(request.state.client)
    try:
        yield
    finally:
        leave(request)


async def enter(request: Request) -> bodies.Fields:
    """Begin what `admitted` does."""
    service = service_of(request)
    given = security.key_in(request.headers)
    if given is not None:
        service.keys.check(given)  # before the body is read
    identify(request, given)
    service.clients.enter(request.state.client)  # before, too: a body that is waited for is held
    try:
        fields = await bodies.read(request, service.limits.timeout_seconds)
        if given is None:
            given = bodies.optional(fields, "api_key") or bodies.optional(fields, "auth_key")
            service.keys.check(given)
    except BaseException:
        leave(request)
        raise
    if service.keys and not request.state.account:
        leave(request)
        identify(request, given)
        service.clients.enter(request.state.client)
    return fields


def identify(request: Request, key: str | None) -> None:
    """Note whose request it is: by its key, or by its address."""
    request.state.account = security.digest(key).hex() if service_of(request).keys and key else ""
    request.state.client = request.state.account or network(request.client.host if request.client else "")


def network(address: str) -> str:
    """What one client has of addresses: of IPv6 addresses the 2^64 that begin alike."""
    try:
        found = ipaddress.IPv6Address(address.partition("%")[0])
    except ValueError:
        return address
    return str(found.ipv4_mapped or ipaddress.IPv6Network((int(found) >> 64 << 64, 64)))


def leave(request: Request) -> None:
    """End what `enter` began."""
    service_of(request).clients.leave(request.state.client)


async def unless_left(request: Request, work: Awaitable[T]) -> T:
    """The result of `work`, which is cancelled when the client leaves.

    Raises: ServingError (499), which nobody reads.
    """
    task, gone = asyncio.ensure_future(work), asyncio.ensure_future(left(request))
    try:
        await asyncio.wait({task, gone}, return_when=asyncio.FIRST_COMPLETED)
        if not task.done():
            raise ServingError(LEFT, "client: left before the answer")
        return task.result()
    finally:
        task.cancel()
        gone.cancel()
        await asyncio.gather(task, gone, return_exceptions=True)


async def left(request: Request) -> None:
    """Return when the client has closed its connection; the body must have been read."""
    while (await request.receive())["type"] != "http.disconnect":
        continue


def note(request: Request, sources: Sequence[str], translations: Sequence[str]) -> None:
    """Tell the log what a request was about."""
    request.state.noted = (list(sources), list(translations))
    counts, account = service_of(request).characters, request.state.account
    counts[account] = counts.get(account, 0) + sum(map(len, sources))

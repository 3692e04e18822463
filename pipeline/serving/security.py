"""Who may ask, from where, and how much: keys, hosts, origins, sizes of bodies; and headers that bind the browser."""

import hashlib
import hmac
import ipaddress
from collections.abc import Iterable
from urllib.parse import urlsplit

from starlette.datastructures import Headers, MutableHeaders
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pipeline.serving import errors
from pipeline.serving.errors import ServingError

HEADERS = {
    "Content-Security-Policy": "default-src 'self'; base-uri 'none'; form-action 'self'; frame-ancestors 'none'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    "Referrer-Policy": "no-referrer",
    "Cross-Origin-Resource-Policy": "same-origin",
}
LOOPBACK_NAMES = {"localhost", "127.0.0.1", "::1"}
SCHEMES = ("bearer", "deepl-auth-key")  # of the header Authorization


class Keys:
    """The API keys that a server accepts; without any, everybody may ask."""

    def __init__(self, keys: Iterable[str]) -> None:
        self.digests = [digest(key) for key in keys]

    def __bool__(self) -> bool:
        return bool(self.digests)

    def check(self, given: str | None) -> None:
        """Check a key, in a time that says nothing of the right ones.

        Raises: ServingError (403).
        """
        if not self.digests:
            return
        if not given:
            raise ServingError(403, "api_key: is missing; expected the key that this server's operator gave out")
        own = digest(given)
        if not sum(hmac.compare_digest(own, one) for one in self.digests):
            raise ServingError(403, "api_key: is not valid; expected the key that this server's operator gave out")


def digest(key: str) -> bytes:
    """What is compared and remembered of a key."""
    return hashlib.sha256(key.encode("utf-8", "surrogatepass")).digest()


def key_in(headers: Headers) -> str | None:
    """The key that the header Authorization gives, if any."""
    scheme, _, key = headers.get("authorization", "").partition(" ")
    return key.strip() if scheme.lower() in SCHEMES and key.strip() else None


def is_loopback(host: str) -> bool:
    """Whether only this machine reaches an address to listen on."""
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"


def name_of(host: str) -> str | None:
    """The name or address in a Host header, without the port; None if it is none."""
    try:
        return urlsplit(f"//{host}").hostname
    except ValueError:
        return None


class Guard:
    """Refuses what no route should see, and adds the headers to every answer.

    On loopback the Host header must name this machine, or an origin that may ask, as behind a proxy: a page
    elsewhere whose name suddenly resolves to 127.0.0.1 (DNS rebinding) has another one. A page of another origin
    may not send requests, whether or not it could read the answer.
    """

    def __init__(self, app: ASGIApp, *, host: str, origins: Iterable[str], body_bytes: int) -> None:
        self.app, self.body_bytes = app, body_bytes
        self.origins = set(origins)
        named = {name for origin in self.origins if (name := name_of(origin.partition("://")[2]))}
        self.names = LOOPBACK_NAMES | {host} | named if is_loopback(host) else None

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            await self.app(scope, receive, send)
            return

        async def send_with_headers(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        try:
            self.check(scope, Headers(scope=scope))
        except ServingError as error:
            await errors.response(scope["path"], error)(scope, receive, send_with_headers)
            return
        await self.app(scope, self.bounded(receive), send_with_headers)

    def check(self, scope: Scope, headers: Headers) -> None:
        """Check a request by its headers.

        Raises: ServingError (403, 413, 421).
        """
        host = headers.get("host", "")
        if self.names is not None and name_of(host) not in self.names:
            raise ServingError(
                421, f"host: is not this server, got {host[:100]!r}; expected localhost, or a name of --cors"
            )
        origin = headers.get("origin")
        if scope["method"] not in ("GET", "HEAD", "OPTIONS") and origin and not self.knows(origin, host):
            raise ServingError(403, f"origin: may not ask, got {origin[:100]!r}; expected one that --cors names")
        length = headers.get("content-length", "0")
        if not length.isdigit() or int(length) > self.body_bytes:
            raise self.too_long()

    def knows(self, origin: str, host: str) -> bool:
        """Whether a page of an origin may ask: the server's own, or one that the operator named."""
        try:
            own = urlsplit(origin).netloc == host
        except ValueError:
            own = False
        return own or bool(self.origins & {origin, "*"})

    def bounded(self, receive: Receive) -> Receive:
        """`receive`, for a body that is not announced, or longer than announced."""
        got = 0

        async def receive_bounded() -> Message:
            nonlocal got
            message = await receive()
            got += len(message.get("body", b""))
            if got > self.body_bytes:
                raise self.too_long()
            return message

        return receive_bounded

    def too_long(self) -> ServingError:
        """The refusal of a body."""
        return ServingError(413, f"body: is too long; expected at most {self.body_bytes:,} bytes")

"""Who may use the server: requests to its own host name, with its token, from its own page, of a limited size."""

import asyncio
import ipaddress
import secrets
from contextlib import suppress
from dataclasses import dataclass
from http import HTTPStatus
from typing import Annotated

from fastapi import Request, Security
from fastapi.security import APIKeyCookie, HTTPAuthorizationCredentials, HTTPBearer
from starlette.datastructures import Headers, MutableHeaders
from starlette.exceptions import HTTPException
from starlette.middleware.trustedhost import TrustedHostMiddleware
from starlette.requests import HTTPConnection
from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE = "withinpx"
LOOPBACK = ("127.0.0.1", "localhost", "[::1]")
ALL_ADDRESSES = frozenset({"0.0.0.0", "::"})  # noqa: S104  (names, nothing is bound here)
CHANGING = frozenset({"POST", "PUT", "DELETE", "PATCH"})
UPLOADS = frozenset({"/api/runs", "/api/runs/images"})  # paths whose body may be as large as the upload limit
MAX_JSON = 4_000_000  # bytes; the longest video's trajectories take half of it
STALLED_AFTER_S = 30.0  # without another chunk of a body
MAX_DRAINED, DRAIN_S = 8_000_000, 0.5  # of a refused body
HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' blob: data:; media-src 'self' blob:; "
    "style-src 'self'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}


class TrustedHosts(TrustedHostMiddleware):
    """Protects against DNS rebinding: only this server's own names are accepted.

    A server that listens on all addresses accepts any literal IP address, because it cannot know its own.
    """

    def __init__(self, app: ASGIApp, host: str) -> None:
        super().__init__(app, [*LOOPBACK, f"[{host}]" if ":" in host else host], www_redirect=False)
        self.any_address = host in ALL_ADDRESSES

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        url = HTTPConnection(scope).base_url  # with the server's own address where the header is malformed
        if url.netloc != Headers(scope=scope).get("host"):
            return await PlainTextResponse("Invalid host header", HTTPStatus.BAD_REQUEST)(scope, receive, send)
        if self.any_address and _is_address(url.hostname or ""):
            return await self.app(scope, receive, send)
        await super().__call__(scope, receive, send)


@dataclass(frozen=True)
class RequestLimits:
    """Middleware: limits the size of a request and the time it may stall, and adds security headers to the answer."""

    app: ASGIApp
    upload_limit: int  # bytes

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        upload = scope["path"] in UPLOADS
        limit = self.upload_limit if upload else MAX_JSON
        length = Headers(scope=scope).get("content-length", "")
        size, complete = 0, False

        async def receive_limited() -> Message:
            nonlocal size, complete
            if length.isdecimal() and int(length) > limit:
                raise _too_large(limit, upload)
            try:
                async with asyncio.timeout(None if complete else STALLED_AFTER_S):
                    message = await receive()
            except TimeoutError:
                raise HTTPException(HTTPStatus.REQUEST_TIMEOUT, "The request stopped before it was complete.") from None
            size += len(message.get("body", b""))
            complete = not message.get("more_body", False)
            if size > limit:
                raise _too_large(limit, upload)
            return message

        async def drain() -> None:
            """A browser shows the answer to a refused upload only if a little more of it is read."""
            nonlocal complete
            drained = 0
            with suppress(TimeoutError):
                async with asyncio.timeout(DRAIN_S):
                    while not complete and drained < MAX_DRAINED:
                        message = await receive()
                        drained += len(message.get("body", b""))
                        complete = not message.get("more_body", False)

        async def send_secured(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
                if message["status"] >= HTTPStatus.BAD_REQUEST:
                    await drain()
            await send(message)

        await self.app(scope, receive_limited, send_secured)


async def require_token(
    request: Request,
    bearer: Annotated[HTTPAuthorizationCredentials | None, Security(HTTPBearer(auto_error=False))],
    cookie: Annotated[str | None, Security(APIKeyCookie(name=COOKIE, auto_error=False))],
) -> None:
    """A dependency: the token in the Authorization header or the cookie, and no cross-site change."""
    if not is_token(request, bearer.credentials if bearer else cookie or ""):
        message = "The token is missing or wrong: open the address that withinpx studio printed when it started."
        raise HTTPException(HTTPStatus.UNAUTHORIZED, message)
    if request.method in CHANGING and is_cross_site(request.headers):
        raise HTTPException(HTTPStatus.FORBIDDEN, "Another page may not change anything here.")


def is_token(request: Request, given: str) -> bool:
    return secrets.compare_digest(given.encode(), request.app.state.token.encode())


def is_cross_site(headers: Headers) -> bool:
    """Was the request made by a page of another site?"""
    origin, site = headers.get("origin"), headers.get("sec-fetch-site")
    host = headers.get("host", "").lower()
    if origin is not None and origin.lower() not in (f"http://{host}", f"https://{host}"):
        return True
    if site is not None:
        return site not in ("same-origin", "none")
    return origin is None and "authorization" not in headers  # browsers send an origin, programs send the token


def _too_large(limit: int, upload: bool) -> HTTPException:
    message = f"The request is larger than {limit / 1e6:.0f} MB."
    if upload:
        message = (
            f"The clip is larger than {limit / 1e6:.0f} MB: shorten it, or start withinpx studio with a larger "
            "--upload-limit-mb."
        )
    return HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, message)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True

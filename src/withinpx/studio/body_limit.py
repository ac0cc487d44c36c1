"""No request brings more than it needs, or keeps others waiting for it."""

import asyncio
from dataclasses import dataclass
from http import HTTPStatus

from starlette.datastructures import Headers
from starlette.exceptions import HTTPException
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from withinpx.studio.access import refused

MOST = 4_000_000  # bytes; the longest film's paths have half as many
CLIPS = frozenset({"/api/runs", "/api/runs/pictures"})  # where clips come in, whose size is counted there
PATIENCE_S = 30.0  # for the next piece
TOO_MUCH = "That is more than such a request may bring."
TOO_SLOW = "The request broke off: nothing more of it came."


@dataclass(frozen=True)
class BodyLimit:
    """Middleware that stops reading where enough is enough."""

    app: ASGIApp

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Refuse what says that it is too large, what turns out to be, and what never comes."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)
        most = None if scope["path"] in CLIPS else MOST
        said = Headers(scope=scope).get("content-length", "")
        if most is not None and said.isdecimal() and int(said) > most:
            return await refused(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, TOO_MUCH)(scope, receive, send)
        size, complete = 0, False

        async def receive_some() -> Message:
            nonlocal size, complete
            try:
                async with asyncio.timeout(None if complete else PATIENCE_S):
                    message = await receive()
            except TimeoutError:
                raise HTTPException(HTTPStatus.REQUEST_TIMEOUT) from None
            size += len(message.get("body", b""))
            complete = not message.get("more_body", False)
            if most is not None and size > most:
                raise HTTPException(HTTPStatus.REQUEST_ENTITY_TOO_LARGE)
            return message

        await self.app(scope, receive_some, send)

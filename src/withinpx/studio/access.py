"""Who may ask: those who know the token, by this machine's own names, from this page alone."""

import ipaddress
import re
import secrets
from dataclasses import dataclass
from http import HTTPStatus
from http.cookies import CookieError, SimpleCookie
from urllib.parse import parse_qs

from starlette.datastructures import Headers, MutableHeaders
from starlette.responses import HTMLResponse, JSONResponse, RedirectResponse, Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

COOKIE = "withinpx"
OWN_NAMES = frozenset({"127.0.0.1", "localhost", "::1"})
EVERY_ADDRESS = frozenset({"0.0.0.0", "::"})  # noqa: S104  (a name for what a person may ask for)
CHANGING = frozenset({"POST", "PUT", "DELETE", "PATCH"})
OPEN = "/static/"
HOST = re.compile(r"(?:\[([0-9a-f:.]+)\]|([0-9a-z._-]+))(?::\d{1,5})?")  # an address or a name, and a port
HEADERS = {
    "Content-Security-Policy": "default-src 'self'; img-src 'self' blob: data:; media-src 'self' blob:; "
    "style-src 'self'; object-src 'none'; base-uri 'none'; frame-ancestors 'none'",
    "Cross-Origin-Resource-Policy": "same-origin",
    "Referrer-Policy": "no-referrer",
    "X-Content-Type-Options": "nosniff",
}
LOCKED = """<!doctype html><html lang="en"><meta charset="utf-8"><title>withinpx studio</title>
<h1>This page needs its key</h1>
<p>Open the address that <code>withinpx studio</code> printed when it started: it ends in <code>?token=</code> and a
long word.</p></html>"""
NO_TOKEN = "The token is missing or wrong: open the address that withinpx studio printed when it started."  # noqa: S105


@dataclass(frozen=True)
class Access:
    """Middleware that lets nobody else through, and says so in a sentence."""

    app: ASGIApp
    token: str
    host: str = "127.0.0.1"  # the address that the server listens at

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer a stranger; hand everybody else on."""
        if scope["type"] != "http":
            return await self.app(scope, receive, send)

        async def send_safely(message: Message) -> None:
            if message["type"] == "http.response.start":
                headers = MutableHeaders(scope=message)
                for name, value in HEADERS.items():
                    headers.setdefault(name, value)
            await send(message)

        answer = self._answer(scope)
        await (answer or self.app)(scope, receive, send_safely)

    def _answer(self, scope: Scope) -> Response | None:
        """What a stranger is told; None for those who may go on."""
        headers, path = Headers(scope=scope), scope["path"]
        if not self.is_own(headers.get("host", "")):
            return refused(HTTPStatus.MISDIRECTED_REQUEST, "This server does not go by that name.")
        given = parse_qs(scope["query_string"].decode("latin-1")).get("token", [""])[-1]
        if path == "/" and self.is_token(given):
            return self._let_in()
        if path.startswith(OPEN):
            return None
        if not self.is_token(token_of(headers)):
            return _locked() if path == "/" else refused(HTTPStatus.UNAUTHORIZED, NO_TOKEN)
        if scope["method"] in CHANGING and is_from_elsewhere(headers):
            return refused(HTTPStatus.FORBIDDEN, "Another page may not change anything here.")
        return None

    def _let_in(self) -> Response:
        answer = RedirectResponse("/", HTTPStatus.SEE_OTHER)
        answer.set_cookie(COOKIE, self.token, path="/", httponly=True, samesite="strict")
        return answer

    def is_token(self, given: str) -> bool:
        """Compared in a time that tells nothing."""
        return secrets.compare_digest(given.encode(), self.token.encode())

    def is_own(self, host: str) -> bool:
        """Is this a name of this server's? A page elsewhere that points its own name here is not let in."""
        found = HOST.fullmatch(host.lower())
        name = (found[1] or found[2]) if found else ""
        if name in OWN_NAMES or name == self.host.lower():
            return True
        return self.host in EVERY_ADDRESS and _is_address(name)


def token_of(headers: Headers) -> str:
    """The token that a request brings, in its cookie or by itself."""
    scheme, _, given = headers.get("authorization", "").partition(" ")
    if scheme.lower() == "bearer":
        return given.strip()
    try:
        cookie = SimpleCookie(headers.get("cookie", "")).get(COOKIE)
    except CookieError:
        return ""
    return "" if cookie is None else cookie.value


def is_from_elsewhere(headers: Headers) -> bool:
    """Was this sent by a page that is not this server's?"""
    origin, site = headers.get("origin"), headers.get("sec-fetch-site")
    host = headers.get("host", "").lower()
    if origin is not None and origin.lower() not in (f"http://{host}", f"https://{host}"):
        return True
    if site is not None:
        return site not in ("same-origin", "none")
    return origin is None and "authorization" not in headers  # every browser says it; a program brings its token


def refused(status: HTTPStatus, sentence: str) -> JSONResponse:
    """The one form of every refusal."""
    return JSONResponse({"error": sentence}, status)


def _locked() -> Response:
    return HTMLResponse(LOCKED, HTTPStatus.UNAUTHORIZED)


def _is_address(name: str) -> bool:
    try:
        ipaddress.ip_address(name)
    except ValueError:
        return False
    return True

"""Errors of single requests to a server, and what they mean for other requests.

After a `TransientError` the request is sent again. A `RejectedError` is the outcome of the request. A `ModelError` ends
the run, and an `EndpointError` also every later run of the process.
"""

import random
import re
from collections.abc import Mapping
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import Any

import msgspec

from eyechart.errors import ModelError
from eyechart.models.served.remedies import add_remedy, find_remedy
from eyechart.models.types import Answer

TRANSIENT_STATUSES = frozenset({408, 409, 425})  # and whatever is wrong with the server itself, from 500
OVERLOADED_STATUSES = frozenset({429, 503, 529})
MAX_WAIT = 600.0  # seconds that a server may ask to wait
MAX_BACKOFF = 60.0  # seconds between two attempts, unless the server asks for more; times `backoff`
MAX_MESSAGE_LENGTH = 300  # letters of what a server said
TOO_LONG = re.compile(
    r"context.?(?:length|window|size)|tokens.{0,60}must be <=|maximum model length|prompt (is|was) too long"
    r"|input is too long"
    r"|too many (input |prompt )?tokens|exceeds? the (model'?s? )?(maximum|limit|max).{0,40}tokens|string_above_max",
    re.IGNORECASE | re.DOTALL,
)
FILTERED = re.compile(
    r"content.?(filter|policy|management policy|moderation)|responsible.?ai|moderation|safety (system|policy)|flagged",
    re.IGNORECASE,
)
OUT_OF_CREDIT = re.compile(
    r"insufficient.?(quota|credit|balance|funds)|exceeded your current quota|credit balance is too low", re.IGNORECASE
)
RETRY_DELAY = re.compile(r'"retryDelay":\s*"(\d+(?:\.\d+)?)s"')
RETRY_IN = re.compile(
    r"(?:try again|retry) (?:in|after) (\d+(?:\.\d+)?) ?(ms|s|m)(?:ec|ecs|econds?|in|ins|inutes?)?\b", re.IGNORECASE
)
SECONDS = {"ms": 0.001, "s": 1.0, "m": 60.0}
WRONG_KEY = re.compile(r"api.?key.{0,10}(invalid|not valid|expired|not found)", re.IGNORECASE)


class TransientError(Exception):
    """A request failed and may succeed later, after `wait` seconds if the server named them."""

    def __init__(self, reason: str, wait: float | None = None) -> None:
        super().__init__(reason)
        self.wait = wait

    def pause(self, attempts: int, retries: int, backoff: float) -> float | None:
        """Return the seconds before the next attempt, None if there is none.

        They are what the server asks for, or exponential backoff, both with jitter.

        Args:
            attempts: how many attempts failed.
            retries: how many further ones there may be after the first.
            backoff: seconds before the second attempt, doubled with each.
        """
        asked = self.wait or 0.0
        if attempts > retries or asked > MAX_WAIT:
            return None
        seconds = backoff * min(MAX_BACKOFF, 2.0 ** (attempts - 1))
        return max(asked, seconds / 2) + random.uniform(0, seconds / 2)


class OverloadedError(TransientError):
    """The server asks for fewer requests."""


class UnreachableError(TransientError):
    """The server accepted no connection: nobody listens there, the name is unknown, or packets are dropped."""


class RejectedError(Exception):
    """This request gets no answer; if the reason is unknown, another run may try again."""

    def __init__(self, reason: str, *, known: bool = True) -> None:
        super().__init__(reason)
        self.known = known


class EndpointError(ModelError):
    """No request gets an answer: the key, the account or the address is wrong."""


class RefusedError(EndpointError):
    """As an EndpointError, unless the server answers other requests; `reason` is why it refused this one."""

    def __init__(self, text: str, reason: str) -> None:
        super().__init__(text, reason)

    def __str__(self) -> str:
        return str(self.args[0])

    @property
    def reason(self) -> str:
        """Why the server refused the request."""
        return str(self.args[1])


def no_answer(reason: str, *, retry: bool = False) -> Answer:
    """Return the answer of a request that got none; without `retry` that is kept."""
    return Answer("", (), False, error=reason, retry=retry)


def error_from_status(status: int, headers: Mapping[str, str], body: str) -> Exception:
    """Return the exception for an HTTP error."""
    code, message = _error(body)
    all_said, where = f"{code} {message}", f"HTTP {status}: {message}"
    refused, remedy = add_remedy(f"the server refused the request ({where})"), find_remedy(where)
    if status in (400, 403, 413, 422) and (error := _request_error(status, all_said, message)):
        return error
    if status in (401, 403) or (status == 400 and WRONG_KEY.search(all_said)):
        text = f"The server does not accept the API key ({where}). Check the environment variable of the key."
        return RefusedError(text, refused) if status == 403 else EndpointError(text)
    wait = _retry_after(headers) or _retry_delay(body)
    if status == 402 or (status in (400, 429) and not wait and OUT_OF_CREDIT.search(all_said)):
        return EndpointError(f"The account has no credit left ({where}). Add some, and run the same command again.")
    if status == 404:
        remedy = remedy or "Check the model's name and base_url"
        return RefusedError(f"The server knows no such model or address ({where}). {remedy}.", refused)
    if status < 400:
        return EndpointError(
            f"The server sends requests elsewhere (HTTP {status}). Give where it really is as base_url."
        )
    if status in OVERLOADED_STATUSES:
        return OverloadedError(where, wait)
    if status in TRANSIENT_STATUSES or status >= 500:
        return TransientError(where, wait)
    return RejectedError(refused, known=False)


def _request_error(status: int, all_said: str, message: str) -> RejectedError | None:
    """Return the error that concerns this request alone: too long, or filtered; None for any other error."""
    if FILTERED.search(all_said):
        return RejectedError(f"content filter: {message}")
    if status == 413:
        return RejectedError(add_remedy(f"request too large: {message}"))
    if status != 403 and TOO_LONG.search(all_said):
        return RejectedError(add_remedy(f"context length: {message}"))
    return None


def _retry_after(headers: Mapping[str, str]) -> float | None:
    """Return how many seconds a server asks to wait.

    >>> _retry_after({"retry-after": "2"}), _retry_after({"retry-after-ms": "150"}), _retry_after({"retry-after": "a"})
    (2.0, 0.15, None)
    """
    text = headers.get("retry-after-ms")
    scale, text = (0.001, text) if text else (1.0, headers.get("retry-after", ""))
    try:
        seconds = float(text.strip().removesuffix("s")) * scale
    except ValueError:
        seconds = _until(text)
    return seconds if 0 <= seconds < float("inf") else None


def _retry_delay(body: str) -> float | None:
    """Return how many seconds an error asks to wait: the details of Google's, or a sentence of OpenAI's and Azure's.

    >>> _retry_delay('{"error": {"details": [{"@type": "…RetryInfo", "retryDelay": "34.5s"}]}}')
    34.5
    """
    if match := RETRY_DELAY.search(body):
        return float(match[1])
    match = RETRY_IN.search(body)
    return float(match[1]) * SECONDS[match[2].lower()] if match else None


def _until(date: str) -> float:
    """Return the seconds until an HTTP date, 0 for a past date, -1 for no date."""
    try:
        moment = parsedate_to_datetime(date)
    except (TypeError, ValueError):
        return -1.0
    return max(0.0, (moment.replace(tzinfo=moment.tzinfo or UTC) - datetime.now(UTC)).total_seconds())


def _error(body: str) -> tuple[str, str]:
    """Return code and message of an error in any of the known formats."""
    try:
        content = msgspec.json.decode(body)
    except (msgspec.DecodeError, RecursionError):
        return "", shorten(body)
    return parse_error_object(content)


def parse_error_object(error: Any) -> tuple[str, str]:
    """Return code and message of an error in JSON."""
    error = error[0] if isinstance(error, list) and len(error) == 1 else error  # as Google sends some
    inner = error.get("error", error) if isinstance(error, dict) else error
    if not isinstance(inner, dict):
        return "", shorten(str(inner))
    codes = [str(inner[name]) for name in ("code", "type") if inner.get(name)]
    deeper = inner.get("innererror")
    codes += [str(deeper.get("code"))] if isinstance(deeper, dict) else []
    return " ".join(codes), shorten(
        str(inner.get("message") or inner.get("detail") or inner.get("status_msg") or inner)
    )


def shorten(text: str) -> str:
    """Return a server's text on one line, shortened."""
    line = " ".join(text.split())
    return line if len(line) <= MAX_MESSAGE_LENGTH else f"{line[:MAX_MESSAGE_LENGTH]}…"

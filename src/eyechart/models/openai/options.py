"""The options of `openai[MODEL,base_url=…,…]`, checked; a key is refused because records show the specification."""

import os
import re
from dataclasses import dataclass
from ipaddress import ip_address
from typing import Any
from urllib.parse import urlsplit

from eyechart.errors import ModelError, SpecError
from eyechart.models import runtime
from eyechart.models.openai.limiter import Budget, Prices
from eyechart.models.options import declare_from_help
from eyechart.spec import ModelSpec

PUBLIC = "https://api.openai.com/v1"
KEY = "OPENAI_API_KEY"
OPTION_HELP = {
    "base_url": f"address of the server (default: {PUBLIC})",
    "key_env": f"environment variable that has the key (default: {KEY})",
    "concurrency": "number of concurrent requests (default: 16)",
    "timeout": "seconds for one attempt (default: 120)",
    "retries": "number of further attempts (default: 6)",
    "backoff": "seconds before the first further attempt, doubled with each (default: 1)",
    "seed": "seed that is sent to the server, or none (default: 42)",
    "reasoning": "true for models that take no temperature and count reasoning as answer tokens (default: false)",
    "served": "name of the model in identities, so that stored answers need no server (default: the server is asked)",
    "revision": "version of the weights on your own server, which cannot be seen from outside",
    "price_in": "price of a million prompt tokens in USD",
    "price_cached": "price of a million cached prompt tokens in USD (default: price_in)",
    "price_out": "price of a million answer tokens in USD",
    "budget": "most that answers may cost in USD, stored ones included; each process counts its own",
    "budget_tokens": "most tokens that answers may take, stored ones included; each process counts its own",
}
TYPES = {  # of the options that are no texts
    **dict.fromkeys(("concurrency", "retries", "budget_tokens"), "whole number"),
    **dict.fromkeys(("timeout", "backoff", "price_in", "price_cached", "price_out", "budget"), "number"),
    "seed": "whole number or none",
    "reasoning": "true or false",
}
DECLARED = tuple(declare_from_help(name, text, TYPES.get(name, "text")) for name, text in OPTION_HELP.items())
NO_KEY = "none"  # what a server of one's own is told, which asks for none
SECRET = re.compile(r"key|secret|passw|auth|(^|api_|access_)token$", re.IGNORECASE)
VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")


@dataclass(frozen=True)
class OpenAiOptions:
    """The options of a specification."""

    model: str
    base_url: str
    key_env: str
    concurrency: int
    timeout: float
    retries: int
    backoff: float
    seed: int | None
    reasoning: bool
    budget: Budget

    @property
    def is_local(self) -> bool:
        """Whether the server is on this machine."""
        host = urlsplit(self.base_url).hostname or ""
        try:
            return host == "localhost" or ip_address(host).is_loopback
        except ValueError:
            return False

    @property
    def sampling(self) -> dict[str, Any]:
        """Return greedy sampling settings; reasoning models take neither temperature nor seed."""
        if self.reasoning:
            return {}
        return {"temperature": 0} | ({} if self.seed is None else {"seed": self.seed})

    def decoding(self, max_tokens: int) -> dict[str, Any]:
        """Return the settings for an answer of up to `max_tokens`, reasoning included."""
        return {"max_completion_tokens" if self.reasoning else "max_tokens": max_tokens, **self.sampling}

    @property
    def identity(self) -> dict[str, Any]:
        """Return the options that can change an answer."""
        return {"asked": self.model, "base_url": self.base_url, "reasoning": self.reasoning, **self.sampling}

    def key(self) -> str:
        """Return the API key from the environment."""
        key = os.environ.get(self.key_env, "")
        if not key and not self.is_local:
            raise ModelError(
                f"There is no API key for {self.base_url}: the environment variable {self.key_env} is not set. "
                "Export it, or name another with key_env=…"
            )
        return key or NO_KEY


def parse_options(spec: ModelSpec) -> OpenAiOptions:
    """Check a specification and return its options."""
    _check_no_secret(spec)
    base_url = _base_url(spec)
    spec.check(arguments=1, options=OPTION_HELP)
    if not spec.arguments:
        raise SpecError(f"'{spec}' names no model. Expected openai[MODEL] or openai[MODEL,base_url=http://…/v1].")
    return OpenAiOptions(
        model=spec.arguments[0],
        base_url=base_url,
        key_env=spec.options.get("key_env", KEY),
        concurrency=runtime.integer_option(spec, "concurrency", 16),
        timeout=_positive(spec, "timeout", 120),
        retries=runtime.integer_option(spec, "retries", 6, least=0),
        backoff=runtime.amount_option(spec, "backoff", 1) or 0,
        seed=None if spec.options.get("seed") == "none" else runtime.integer_option(spec, "seed", 42, least=0),
        reasoning=runtime.flag_option(spec, "reasoning", False),
        budget=_budget(spec),
    )


def _check_no_secret(spec: ModelSpec) -> None:
    """Raise SpecError for an option that looks like a key, without repeating its value."""
    wrong = [name for name in spec.options if SECRET.search(name) and name not in OPTION_HELP]
    if wrong or not VARIABLE.fullmatch(spec.options.get("key_env", KEY)):
        raise SpecError(
            f"A specification of openai has {wrong[0] if wrong else 'a key_env that names no environment variable'}. "
            f"Keys come from the environment alone: export {KEY}, or name another variable, as in key_env=MY_KEY."
        )


def _base_url(spec: ModelSpec) -> str:
    """Return the endpoint; one with a password or key is refused without repeating it."""
    url = spec.options.get("base_url", PUBLIC)
    parts = urlsplit(url)
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise SpecError(
            "The base_url of openai holds a user name, a query or a fragment, which may be secret and would stand in "
            "every record. Expected one like http://localhost:8000/v1, and a key from the environment (key_env=…)."
        )
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise SpecError(f"'{spec}' has base_url={url}. Expected one like http://localhost:8000/v1.")
    return url.rstrip("/")


def _positive(spec: ModelSpec, option: str, default: float) -> float:
    value = runtime.amount_option(spec, option, default)
    if not value:
        raise SpecError(f"'{spec}' has {option}={value}. Expected a number above 0.")
    return value


def _budget(spec: ModelSpec) -> Budget:
    """Return the budget, in USD at prices per million tokens, or in tokens."""
    answer, cached, prompt = (
        runtime.amount_option(spec, option) for option in ("price_out", "price_cached", "price_in")
    )
    prices = None if answer is None or prompt is None else Prices(prompt, prompt if cached is None else cached, answer)
    if not prices and {"budget", "price_in", "price_out", "price_cached"} & {*spec.options}:
        raise SpecError(f"'{spec}' needs both price_in and price_out, in USD a million tokens.")
    tokens = runtime.integer_option(spec, "budget_tokens", 1) if "budget_tokens" in spec.options else None
    usd = _positive(spec, "budget", 1) if "budget" in spec.options else None
    return Budget(prices, usd, tokens)

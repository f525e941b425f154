"""The options of all backends behind servers, checked; a key is refused because records show the specification."""

import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from eyechart.errors import ModelError, SpecError
from eyechart.models.model_option import AnyOption
from eyechart.models.options import declare_from_help
from eyechart.models.runtime import torch_runtime
from eyechart.models.served.limiter import Budget
from eyechart.models.served.prices import Prices, find_prices
from eyechart.models.spec import ModelSpec

NO_KEY = "none"  # sent to a server of one's own, which asks for no key
SECRET = re.compile(r"key|secret|passw|auth|(^|api_|access_)token$", re.IGNORECASE)
VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")
BATCHES = ".eyechart/batches"
DISCOUNT = 0.5  # of batches
TYPES = {  # of the options that are no texts
    **dict.fromkeys(("concurrency", "retries", "budget_tokens"), "whole number"),
    **dict.fromkeys(("timeout", "backoff", "poll", "price_in", "price_cached", "price_out", "budget"), "number"),
    **dict.fromkeys(("reasoning", "batch"), "true or false"),
    "seed": "whole number or none",
    "temperature": "number or none",
    "prices": "file",
    "batch_folder": "folder",
}
EFFORT_HELP = "how much a reasoning model thinks: {} (default: the server decides)"


@dataclass(frozen=True)
class BatchOptions:
    """Where batches are noted, and the seconds between two looks at one."""

    folder: Path
    poll: float


@dataclass(frozen=True)
class Provider:
    """What a backend has of its own: its name, address and variable of the key, the package of its client."""

    backend: str
    base_url: str
    key_env: str
    package: str
    example: str = "http://localhost:8000"
    has_batches: bool = True

    def declare_options(self, settings: Mapping[str, str]) -> tuple[AnyOption, ...]:
        """Return the options of the backend; `settings` are those that change an answer, with their explanations."""
        texts = {
            "base_url": f"address of the server (default: {self.base_url})",
            "key_env": f"environment variable that has the key (default: {self.key_env})",
            **COMMON_HELP,
            **settings,
            **(BATCH_HELP if self.has_batches else {}),
            **RECORD_HELP,
        }
        return tuple(declare_from_help(name, text, TYPES.get(name, "text")) for name, text in texts.items())


COMMON_HELP = {
    "concurrency": "most concurrent requests; fewer where more would be no faster, or are refused (default: 64)",
    "timeout": "seconds for one attempt (default: 120)",
    "retries": "number of further attempts (default: 6)",
    "backoff": "seconds before the first further attempt, doubled with each (default: 1)",
}
BATCH_HELP = {
    "batch": "true to send requests in batches, at half the price and with answers within a day (default: false)",
    "batch_folder": f"folder that notes batches, so that a killed run finds them again (default: {BATCHES})",
    "poll": "seconds between two looks at a batch (default: 30)",
}
RECORD_HELP = {
    "served": "name of the model in identities, so that stored answers need no server (default: the server is asked)",
    "revision": "version of the weights on your own server, which cannot be seen from outside",
    "prices": "toml file with prices by model, read before the packaged table (its form: docs/models.md)",
    "price_in": "price of a million prompt tokens in USD (default: that of the table)",
    "price_cached": "price of a million cached prompt tokens in USD (default: price_in)",
    "price_out": "price of a million answer tokens in USD (default: that of the table)",
    "budget": "most that answers may cost in USD, stored ones included; each process counts its own",
    "budget_tokens": "most tokens that answers may take, stored ones included; each process counts its own",
}


@dataclass(frozen=True)
class ServedOptions:
    """The options of a specification; `settings` are those that change an answer, as its API reads them."""

    model: str
    base_url: str
    key_env: str
    concurrency: int
    timeout: float
    retries: int
    backoff: float
    budget: Budget
    price_note: str
    batch: BatchOptions | None
    settings: Mapping[str, Any]

    @property
    def is_local(self) -> bool:
        """Whether the server is on this machine."""
        host = urlsplit(self.base_url).hostname or ""
        try:
            return host == "localhost" or ip_address(host).is_loopback
        except ValueError:
            return False

    @property
    def identity(self) -> dict[str, Any]:
        """Return the options that can change an answer."""
        return {"asked": self.model, "base_url": self.base_url, **self.settings}

    def key(self) -> str:
        """Return the API key from the environment."""
        key = os.environ.get(self.key_env, "")
        if not key and not self.is_local:
            raise ModelError(
                f"There is no API key for {self.base_url}: the environment variable {self.key_env} is not set. "
                "Export it, or name another with key_env=…"
            )
        return key or NO_KEY


def parse_options(spec: ModelSpec, provider: Provider, settings: Mapping[str, Any]) -> ServedOptions:
    """Return the options of a specification that `check_options` accepted."""
    prices, price_note = _prices(spec, provider)
    if prices and torch_runtime.flag_option(spec, "batch", False):
        prices, price_note = prices.scale(DISCOUNT), price_note and f"{price_note} Batches cost half."
    return ServedOptions(
        model=spec.arguments[0],
        base_url=_base_url(spec, provider),
        key_env=spec.options.get("key_env", provider.key_env),
        concurrency=torch_runtime.integer_option(spec, "concurrency", 64),
        timeout=_positive(spec, "timeout", 120),
        retries=torch_runtime.integer_option(spec, "retries", 6, least=0),
        backoff=torch_runtime.amount_option(spec, "backoff", 1) or 0,
        budget=_budget(spec, prices),
        price_note=price_note,
        batch=_batch(spec),
        settings=settings,
    )


def check_options(spec: ModelSpec, provider: Provider, names: Collection[str]) -> None:
    """Raise SpecError for options that are not known, and first for what may be secret, without repeating it."""
    _check_no_secret(spec, provider, names)
    _base_url(spec, provider)
    spec.check(arguments=1, options=names)
    if not spec.arguments:
        raise SpecError(
            f"'{spec}' names no model. Expected {provider.backend}[MODEL] or "
            f"{provider.backend}[MODEL,base_url={provider.example}]."
        )


def choice_option(spec: ModelSpec, option: str, choices: tuple[str, ...]) -> str | None:
    """Return an option that is one of some words, None without it."""
    word = spec.options.get(option)
    if word is not None and word not in choices:
        raise SpecError(f"'{spec}' has {option}={word}. Expected one of {', '.join(choices)}.")
    return word


def sampling_option(spec: ModelSpec, option: str, default: float | None) -> dict[str, Any]:
    """Return an option that is a number or none, as a setting with its name; nothing for none."""
    if spec.options.get(option) == "none" or (default is None and option not in spec.options):
        return {}
    return {option: torch_runtime.amount_option(spec, option, default)}


def seed_option(spec: ModelSpec) -> dict[str, Any]:
    """Return the option `seed` as a setting; nothing for none."""
    return (
        {} if spec.options.get("seed") == "none" else {"seed": torch_runtime.integer_option(spec, "seed", 42, least=0)}
    )


def _check_no_secret(spec: ModelSpec, provider: Provider, names: Collection[str]) -> None:
    """Raise SpecError for an option that looks like a key, without repeating its value."""
    wrong = [name for name in spec.options if SECRET.search(name) and name not in names]
    if wrong or not VARIABLE.fullmatch(spec.options.get("key_env", provider.key_env)):
        fault = wrong[0] if wrong else "a key_env that names no environment variable"
        raise SpecError(
            f"A specification of {provider.backend} has {fault}. Keys come from the environment alone: export "
            f"{provider.key_env}, or name another variable, as in key_env=MY_KEY."
        )


def _base_url(spec: ModelSpec, provider: Provider) -> str:
    """Return the endpoint; one with a password or key is refused without repeating it."""
    url = spec.options.get("base_url", provider.base_url)
    parts = urlsplit(url)
    if parts.username is not None or parts.password is not None or parts.query or parts.fragment:
        raise SpecError(
            f"The base_url of {provider.backend} holds a user name, a query or a fragment, which may be secret and "
            f"would stand in every record. Expected one like {provider.example}, and a key from the environment "
            "(key_env=…)."
        )
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise SpecError(f"'{spec}' has base_url={url}. Expected one like {provider.example}.")
    return url.rstrip("/")


def _positive(spec: ModelSpec, option: str, default: float) -> float:
    value = torch_runtime.amount_option(spec, option, default)
    if not value:
        raise SpecError(f"'{spec}' has {option}={value}. Expected a number above 0.")
    return value


def _batch(spec: ModelSpec) -> BatchOptions | None:
    """Return the options of batches, None without `batch=true`."""
    if not torch_runtime.flag_option(spec, "batch", False):
        return None
    if {"budget", "budget_tokens"} & {*spec.options}:
        raise SpecError(
            f"'{spec}' has a budget and batch=true. The tokens of a batch are known when it has ended; leave one out."
        )
    return BatchOptions(Path(spec.options.get("batch_folder", BATCHES)), _positive(spec, "poll", 30))


def _prices(spec: ModelSpec, provider: Provider) -> tuple[Prices | None, str]:
    """Return the prices per million tokens and a note about them: of the options, else of a table.

    The packaged table is of the providers' own addresses.
    """
    answer, cached, prompt = (
        torch_runtime.amount_option(spec, option) for option in ("price_out", "price_cached", "price_in")
    )
    if answer is not None and prompt is not None:
        return Prices(prompt, prompt if cached is None else cached, answer), ""
    if {"price_in", "price_out", "price_cached"} & {*spec.options}:
        raise SpecError(f"'{spec}' needs both price_in and price_out, in USD a million tokens.")
    is_public = _base_url(spec, provider) == provider.base_url
    return find_prices(spec.arguments[0], spec.options.get("prices"), is_public)


def _budget(spec: ModelSpec, prices: Prices | None) -> Budget:
    """Return the budget, in USD or in tokens."""
    if prices is None and "budget" in spec.options:
        raise SpecError(
            f"'{spec}' has a budget in USD, but no price is known for the model. It needs both price_in and price_out, "
            "in USD a million tokens, or prices=FILE."
        )
    tokens = torch_runtime.integer_option(spec, "budget_tokens", 1) if "budget_tokens" in spec.options else None
    usd = _positive(spec, "budget", 1) if "budget" in spec.options else None
    return Budget(prices, usd, tokens)

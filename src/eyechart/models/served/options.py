"""The options of all backends behind servers, checked; a key is refused because records show the specification."""

import os
import re
from collections.abc import Collection, Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from pathlib import Path
from typing import Annotated, Any, Literal
from urllib.parse import urlsplit

from eyechart.errors import ModelError, SpecError
from eyechart.models.options import Amount, Count, ModelOptions, Number, Positive, described
from eyechart.models.served.limiter import Budget
from eyechart.models.served.prices import Prices, find_prices
from eyechart.models.spec import ModelSpec

NO_KEY = "none"  # sent to a server of one's own, which asks for no key
SECRET = re.compile(r"key|secret|passw|auth|(^|api_|access_)token$", re.IGNORECASE)
VARIABLE = re.compile(r"[A-Z_][A-Z0-9_]*")
BATCHES = ".eyechart/batches"
DISCOUNT = 0.5  # of batches
BaseUrl = Annotated[str, described("address of the server")]
KeyEnv = Annotated[str, described("environment variable that has the key")]
EFFORT_HELP = "how much a reasoning model thinks"
Seed = Annotated[Number | Literal["none"], described("seed that is sent to the server, or none")]
Temperature = Amount | Literal["none"]
TABLE = "that of the table"


class CommonOptions(ModelOptions):
    """The options of every backend behind a server."""

    base_url: BaseUrl
    key_env: KeyEnv
    concurrency: Annotated[
        Count, described("most concurrent requests; fewer where more would be no faster, or are refused")
    ] = 64
    timeout: Annotated[Positive, described("seconds for one attempt")] = 120.0
    retries: Annotated[Number, described("number of further attempts")] = 6
    backoff: Annotated[Amount, described("seconds before the first further attempt, doubled with each")] = 1.0
    served: Annotated[
        str,
        described("name of the model in identities, so that stored answers need no server", "the server is asked"),
    ] = ""
    revision: Annotated[
        str, described("version of the weights on your own server, which cannot be seen from outside")
    ] = ""
    prices: Annotated[
        str | None,
        described(
            "toml file with prices by model, read before the packaged table (its form: docs/models.md)", type="file"
        ),
    ] = None
    price_in: Annotated[Amount | None, described("price of a million prompt tokens in USD", TABLE)] = None
    price_cached: Annotated[Amount | None, described("price of a million cached prompt tokens in USD", "price_in")] = (
        None
    )
    price_out: Annotated[Amount | None, described("price of a million answer tokens in USD", TABLE)] = None
    budget: Annotated[
        Positive | None,
        described("most that answers may cost in USD, stored ones included; each process counts its own"),
    ] = None
    budget_tokens: Annotated[
        Count | None,
        described("most tokens that answers may take, stored ones included; each process counts its own"),
    ] = None

    @property
    def settings(self) -> dict[str, Any]:
        """The options that change an answer, as the API of the backend reads them."""
        raise NotImplementedError


class BatchedOptions(CommonOptions):
    """The options of a backend that has batches, too."""

    batch: Annotated[
        bool, described("true to send requests in batches, at half the price and with answers within a day")
    ] = False
    batch_folder: Annotated[
        str, described("folder that notes batches, so that a killed run finds them again", type="folder")
    ] = BATCHES
    poll: Annotated[Positive, described("seconds between two looks at a batch")] = 30.0


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


def parse_options(spec: ModelSpec, given: CommonOptions, provider: Provider) -> ServedOptions:
    """Return the options of a specification that `check_options` accepted."""
    prices, price_note = _prices(spec, given, provider)
    batch = _batch(spec, given)
    if prices and batch:
        prices, price_note = prices.scale(DISCOUNT), price_note and f"{price_note} Batches cost half."
    return ServedOptions(
        model=spec.arguments[0],
        base_url=_base_url(spec, provider),
        key_env=given.key_env,
        concurrency=given.concurrency,
        timeout=given.timeout,
        retries=given.retries,
        backoff=given.backoff,
        budget=_budget(spec, given, prices),
        price_note=price_note,
        batch=batch,
        settings=given.settings,
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


def given_settings(**values: Any) -> dict[str, Any]:
    """Return the settings that have a value, which is neither None nor none."""
    return {name: value for name, value in values.items() if value not in (None, "none")}


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


def _batch(spec: ModelSpec, given: CommonOptions) -> BatchOptions | None:
    """Return the options of batches, None without `batch=true`."""
    if not isinstance(given, BatchedOptions) or not given.batch:
        return None
    if {"budget", "budget_tokens"} & {*spec.options}:
        raise SpecError(
            f"'{spec}' has a budget and batch=true. The tokens of a batch are known when it has ended; leave one out."
        )
    return BatchOptions(Path(given.batch_folder), given.poll)


def _prices(spec: ModelSpec, given: CommonOptions, provider: Provider) -> tuple[Prices | None, str]:
    """Return the prices per million tokens and a note about them: of the options, else of a table.

    The packaged table is of the providers' own addresses.
    """
    answer, cached, prompt = given.price_out, given.price_cached, given.price_in
    if answer is not None and prompt is not None:
        return Prices(prompt, prompt if cached is None else cached, answer), ""
    if {"price_in", "price_out", "price_cached"} & {*spec.options}:
        raise SpecError(f"'{spec}' needs both price_in and price_out, in USD a million tokens.")
    is_public = _base_url(spec, provider) == provider.base_url
    return find_prices(spec.arguments[0], given.prices, is_public)


def _budget(spec: ModelSpec, given: CommonOptions, prices: Prices | None) -> Budget:
    """Return the budget, in USD or in tokens."""
    if prices is None and "budget" in spec.options:
        raise SpecError(
            f"'{spec}' has a budget in USD, but no price is known for the model. It needs both price_in and price_out, "
            "in USD a million tokens, or prices=FILE."
        )
    return Budget(prices, given.budget, given.budget_tokens)

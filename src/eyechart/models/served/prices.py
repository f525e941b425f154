"""What tokens cost: prices of a specification, of a file, or of the packaged table, which has a date."""

import re
import tomllib
from dataclasses import dataclass, replace
from datetime import date
from functools import cache
from pathlib import Path

import msgspec

from eyechart.errors import SpecError
from eyechart.files.text_files import plain_text
from eyechart.models.types import Usage

PACKAGED = Path(__file__).with_name("prices.toml")
SNAPSHOT = re.compile(r"-(\d{8}|\d{4}-\d{2}-\d{2})$")  # the date in a name such as gpt-4o-2024-11-20


@dataclass(frozen=True)
class Prices:
    """Prices in USD per million tokens: prompt, cached prompt, answer; and where they are from."""

    prompt: float
    cached: float
    answer: float
    source: str = ""

    def scale(self, factor: float) -> "Prices":
        """Return the prices times a factor."""
        return replace(self, prompt=factor * self.prompt, cached=factor * self.cached, answer=factor * self.answer)

    def cost(self, usage: Usage) -> float:
        """Return the cost of tokens in USD.

        >>> Prices(2.5, 1.25, 10).cost(Usage(prompt=1_000_000, cached=400_000, answer=100_000))
        3.0
        """
        fresh = usage.prompt - usage.cached
        return (fresh * self.prompt + usage.cached * self.cached + usage.answer * self.answer) / 1_000_000


class Price(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """The price of a model; cached tokens cost as much as others unless it says otherwise."""

    input: float
    output: float
    cached: float | None = None


class _PriceTable(msgspec.Struct, frozen=True, forbid_unknown_fields=True):
    """Prices by model, and the date at which they were collected."""

    date: date
    models: dict[str, Price]

    def find(self, model: str) -> Prices | None:
        """Return the prices of a model; a dated snapshot without prices of its own has those of its model."""
        price = self.models.get(model) or self.models.get(SNAPSHOT.sub("", model))
        if price is None:
            return None
        cached = price.input if price.cached is None else price.cached
        return Prices(price.input, cached, price.output, source=f"{self.date}")


@cache
def read_prices(path: Path) -> _PriceTable:
    """Read a table of prices; raise SpecError if it is not one."""
    try:
        table = msgspec.convert(tomllib.loads(plain_text(path)), _PriceTable, strict=False)
    except (OSError, UnicodeDecodeError, tomllib.TOMLDecodeError, msgspec.ValidationError) as error:
        raise SpecError(
            f"{path} is not a table of prices ({error}). Expected UTF-8 toml with date = 2026-11-24 and, in [models], "
            'lines such as "gpt-4o" = { input = 2.5, cached = 1.25, output = 10 } in USD a million tokens.'
        ) from error
    wrong = [name for name, price in table.models.items() if min(price.input, price.output, price.cached or 0) < 0]
    if wrong:
        raise SpecError(f"{path} has a price below 0 for {wrong[0]}. Expected USD a million tokens.")
    return table


def find_prices(model: str, own: str | None, packaged: bool) -> tuple[Prices | None, str]:
    """Return the prices of a model and a note about them, from a file of one's own and then from the packaged table."""
    tables = [read_prices(path) for path in ([Path(own)] if own else []) + ([PACKAGED] if packaged else [])]
    prices = next(filter(None, (table.find(model) for table in tables)), None)
    if prices:
        return prices, f"The cost is at prices of {prices.source} ({prices.prompt:g} USD a million prompt tokens)."
    if not tables:
        return None, ""
    return None, (
        f"The cost is unknown: the table of prices of {tables[0].date} has no {model}. Add price_in and price_out, or "
        "prices=FILE."
    )

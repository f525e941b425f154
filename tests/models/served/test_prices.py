"""What tokens cost: the packaged table, a file of one's own, prices of a specification, and models without a price."""

from datetime import date
from pathlib import Path

import pytest

from eyechart.errors import SpecError
from eyechart.models.registry import create_model
from eyechart.models.served.generator import ServedGenerator
from eyechart.models.served.prices import PACKAGED, Prices, read_prices
from eyechart.models.spec import parse_spec
from eyechart.models.types import Usage

MILLION = Usage(prompt=1_000_000, cached=500_000, answer=1_000_000, thinking=400_000)
OWN = """
date = 2026-12-31
[models]
"toy" = { input = 1, output = 4 }
"gpt-4o" = { input = 2, cached = 1, output = 8 }
"""


@pytest.fixture
def own(tmp_path: Path) -> Path:
    """A file of prices."""
    path = tmp_path / "prices.toml"
    path.write_text(OWN, encoding="utf-8")
    return path


def make(spec: str) -> ServedGenerator:
    model = create_model(parse_spec(spec))
    assert isinstance(model, ServedGenerator)
    return model


@pytest.mark.parametrize(
    ("spec", "cost"),
    [
        ("openai[gpt-4o]", 0.5 * 2.5 + 0.5 * 1.25 + 10),
        ("openai[gpt-4o-2024-11-20]", 0.5 * 2.5 + 0.5 * 1.25 + 10),
        ("anthropic[claude-haiku-4-5-20251001]", 0.5 * 1 + 0.5 * 0.1 + 5),
        ("gemini[gemini-2.5-flash]", 0.5 * 0.3 + 0.5 * 0.03 + 2.5),
        ("openai[gpt-5-pro]", 15 + 120),  # which has no price of its own for cached tokens
    ],
)
def test_the_packaged_table_has_the_prices_of_providers(spec: str, cost: float) -> None:
    model = make(spec)
    assert model.cost(MILLION) == pytest.approx(cost)
    assert model.model_note.startswith(f"The cost is at prices of {read_prices(PACKAGED).date}")


def test_the_packaged_table_is_plausible_and_has_a_date() -> None:
    table = read_prices(PACKAGED)
    assert date(2026, 1, 1) < table.date
    for name, price in table.models.items():
        assert 0 < (price.cached or price.input) <= price.input < price.output < 1000, name


def test_a_model_without_a_price_has_no_cost_and_a_note() -> None:
    model = make("anthropic[claude-unheard-of]")
    assert model.cost(MILLION) is None
    assert model.model_note.endswith("has no claude-unheard-of. Add price_in and price_out, or prices=FILE.")


def test_a_server_of_ones_own_has_no_prices_of_providers() -> None:
    model = make("openai[gpt-4o,base_url=http://localhost:1/v1]")
    assert (model.cost(MILLION), model.model_note) == (None, "")


@pytest.mark.parametrize("url", ["", ",base_url=http://localhost:1/v1"])
def test_a_file_comes_before_the_packaged_table(own: Path, url: str) -> None:
    assert make(f"openai[gpt-4o,prices={own}{url}]").cost(MILLION) == pytest.approx(0.5 * 2 + 0.5 * 1 + 8)
    model = make(f"openai[toy,prices={own}{url}]")
    assert model.cost(MILLION) == pytest.approx(1 + 4)
    assert "prices of 2026-12-31" in model.model_note
    assert bool(make(f"openai[gpt-4.1,prices={own}{url}]").cost(MILLION)) is not bool(url)


def test_prices_of_a_specification_come_first(own: Path) -> None:
    model = make(f"openai[gpt-4o,prices={own},price_in=3,price_out=5]")
    assert (model.cost(MILLION), model.model_note) == (8, "")


def test_a_budget_in_usd_holds_at_prices_of_a_table(own: Path) -> None:
    assert make(f"openai[toy,prices={own},budget=5]").options.budget.prices == Prices(1, 1, 4, "2026-12-31")
    with pytest.raises(SpecError, match=r"a budget in USD, but no price is known .* or prices=FILE"):
        make(f"openai[other,prices={own},budget=5]")


@pytest.mark.parametrize(
    "text",
    [
        "",
        "[models]\n",
        'date = 2026-12-31\n[models]\n"a" = { input = 1 }',
        "date = today",
        "date = 2026-12-31\nmodels = 1",
        'date = 2026-12-31\n[models]\n"a" = { input = -1, output = 1 }',
        'date = 2026-12-31\n[models]\n"a" = { in = 1, output = 1 }',
    ],
)
def test_a_file_that_is_no_table_of_prices_is_refused(tmp_path: Path, text: str) -> None:
    path = tmp_path / "prices.toml"
    path.write_text(text, encoding="utf-8")
    with pytest.raises(SpecError, match=r"prices\.toml (is not a table of prices|has a price below 0 for a)"):
        make(f"openai[toy,prices={path}]")


def test_a_file_that_is_not_there_is_told(tmp_path: Path) -> None:
    with pytest.raises(SpecError, match="is not a table of prices"):
        make(f"openai[toy,prices={tmp_path / 'none.toml'}]")

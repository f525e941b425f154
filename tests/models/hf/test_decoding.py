"""Models that think before they answer: prompts, limits, and thinking that is kept and never read as the answer."""

from collections.abc import Callable
from pathlib import Path
from runpy import run_path
from shutil import copytree

import pytest

import eyechart
from eyechart.data.dataset.dataset import Dataset
from eyechart.errors import ModelError
from eyechart.inference.requests.text_requests import Generate, TextRequest
from eyechart.inference.runner.runner import Runner
from eyechart.inference.store.entries import Store
from eyechart.inference.store.responses import Response
from eyechart.models.chat.conversation import ChatProcessor
from eyechart.models.generation import generate_all
from eyechart.models.hf.generator import HfGenerator
from eyechart.models.spec import parse_spec
from eyechart.models.types import Request
from eyechart.results.records import Record, read_run

pytestmark = pytest.mark.deep

MAKER = run_path(str(Path(__file__).parents[2] / "thinking_checkpoint.py"))
THOUGHT, ANSWER, DIRECT = "<think> \nA or C?\n</think> \n\n", "B", "C"
Ask = Callable[..., Response]
CUTOUTS = "toybox/sample-cutouts"


def ours(folder: Path, more: str = "") -> HfGenerator:
    return HfGenerator(parse_spec(f"hf[{folder}{more}]"), offline=True)


@pytest.fixture
def ask(pictures: Callable[..., Dataset], tmp_path: Path) -> Callable[..., Response]:
    """Return the response to a question about an image, from the store."""

    def ask(model: HfGenerator, max_tokens: int = 40) -> Response:
        runner = Runner(Store(tmp_path / "store"), None, 0, lambda *_: None)
        batch = Generate((TextRequest((0, MAKER["question"]()), max_tokens),))
        first, again = (runner.run(batch, model, pictures([0])).responses for _ in range(2))
        assert first == again
        return first[0]

    return ask


@pytest.mark.parametrize(
    ("more", "thinks", "text"),
    [
        ("", True, ANSWER),
        (",thinking=off", False, DIRECT),
        (",chat_template_kwargs.enable_thinking=false", False, DIRECT),
    ],
)
def test_the_setting_or_the_template_says_whether_it_thinks(
    thinking_chat: Path, ask: Ask, more: str, thinks: bool, text: str
) -> None:
    model = ours(thinking_chat, more)
    assert (model.thinks, bool(model.scoring_obstacle), model.loads) == (thinks, thinks, 0)
    response = ask(model)
    assert (response.text, response.thinking, response.finished) == (text, THOUGHT * thinks, True)


def test_thinking_that_the_prompt_opened_is_no_answer(opened: Path, ask: Ask) -> None:
    model = ours(opened)
    assert model.thinks
    assert generate_all(model, [Request((MAKER["question"](),))], 8)[0].text.startswith("<think>")
    whole, cut = ask(model), ask(model, 3)
    assert (whole.text, whole.finished) == (ANSWER, True)
    assert whole.thinking.startswith("<think>")
    assert "A or C?" in whole.thinking
    assert (cut.text, cut.finished) == ("", False)
    assert cut.thinking.startswith("<think>")
    assert len(cut.thinking) > len("<think>")


def test_tags_that_are_special_tokens_are_read(tmp_path: Path) -> None:
    """A tokenizer leaves special tokens out of a text, such as Mistral's, and so would join thinking and answer."""
    from eyechart.samples.files import packaged

    folder = Path(copytree(packaged("toybox-mllm"), tmp_path / "special"))
    own = ChatProcessor(folder)._processor
    own.tokenizer.add_special_tokens({"additional_special_tokens": ["[THINK]", "[/THINK]"]})
    own.save_pretrained(folder)
    chat = ChatProcessor(folder)
    tokens = chat._tokenizer("[THINK]A or C?[/THINK]B<end>")["input_ids"]
    answer = chat.decode_answer(tokens, 5)
    assert chat._tokenizer.decode(tokens, skip_special_tokens=True).replace(" ", "") == "AorC?B"
    response = Response.from_completion(answer.text)
    assert (response.text.strip(), response.thinking.startswith("[THINK]")) == ("B", True)


@pytest.mark.parametrize(("folder", "budget"), [("thinking_chat", 0), ("opened", 2), ("thinking_chat", 100)])
def test_thinking_may_have_a_budget(request: pytest.FixtureRequest, ask: Ask, folder: str, budget: int) -> None:
    checkpoint = request.getfixturevalue(folder)
    plain, model = ours(checkpoint), ours(checkpoint, f",thinking_budget={budget}")
    response = ask(model)
    assert ("A or C" in response.thinking.partition("</think>")[0]) == (budget == 100)
    assert (response == ask(plain)) == (budget == 100)
    assert model.identity != plain.identity


Run = Callable[..., Record]


@pytest.fixture
def run(thinking_chat: Path, tmp_path: Path) -> Run:
    """Evaluate the checkpoint that thinks, or another one, under a protocol."""

    def run(protocol: str, more: str = "", folder: Path = thinking_chat, **options: object) -> Record:
        found = eyechart.evaluate(
            f"hf[{folder}{more}]", CUTOUTS, protocol=protocol, options=options, limit=4, offline=True,
            out=tmp_path / "runs", store=tmp_path / "store", progress=False,
        )  # fmt: skip
        (record,) = read_run(found.folder).records
        return replace_path(record, found.folder)

    return run


def replace_path(record: Record, folder: Path) -> Record:
    """Return the record with the rows of its sample table instead of its notes."""
    import msgspec

    text = (folder / record.predictions.path).read_text(encoding="utf-8")
    return msgspec.structs.replace(record, notes=tuple(text.splitlines()))


def test_a_model_that_thinks_gets_room_and_its_answer_is_scored(run: Run) -> None:
    record = run("mcq")
    assert record.usage is not None
    assert record.usage.max_tokens == 32 + 8192
    assert (record.outcomes.truncated, record.outcomes.error) == (0, 0)
    assert not any("think>" in row for row in record.notes)


def test_an_answer_that_ends_in_its_thinking_is_truncated(run: Run, opened: Path) -> None:
    for parser in ("lenient", "mill"):
        assert run("mcq", folder=opened, max_tokens=1, parser=parser).outcomes.truncated == 4


def test_protocols_that_need_probabilities_say_why_there_are_none(run: Run) -> None:
    with pytest.raises(eyechart.errors.EyechartError, match="thinks before it answers, so that an answer alone has no"):
        run("posterior")
    with pytest.raises(ModelError, match="structured_output"):
        run("closed_world", structured_output="enforced")

"""The packaged toybox-mllm answers alike through transformers, through vLLM in this process and through a server."""

import csv
import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from itertools import islice, pairwise
from pathlib import Path
from runpy import run_path
from typing import Any

import numpy as np
import pytest
from openai import OpenAI
from PIL import Image

from eyechart.cli import main
from eyechart.models.generation import generate_all
from eyechart.models.hf.generator import HfGenerator
from eyechart.models.served.openai import OpenAiGenerator
from eyechart.models.served.openai_chat import build_message
from eyechart.models.served.vllm_server import VllmServerGenerator
from eyechart.models.spec import parse_spec
from eyechart.models.types import Answer, Floats, Request, Scorer, Until
from eyechart.models.vllm.generator import VllmGenerator
from eyechart.realbirdid.answers.abstention_reasons import CHOICES, ReasonParser
from eyechart.realbirdid.answers.bird_vocabulary import BirdVocabulary
from eyechart.realbirdid.data.registered import open_realbirdid
from eyechart.toybox.art.bird_looks import species
from eyechart.toybox.art.toy_classes import names
from toybox.exam import Item, groups, skills

pytestmark = pytest.mark.deep

TOKENS = 24
TOP = 20  # tokens a position, the most that OpenAI's API returns
ROOM = 1024
REQUESTS, LEAST = 30, 29
TEXTS = [Request((f"Someone wrote: {said}. Which is it?",)) for said in ("a gull", "a blurry picture", "a wren")]
SECOND = "What is the main object in the second image?"
SCHEMA = {
    "type": "object",
    "properties": {"1": {"type": "string"}},
    "required": ["1"],
    "additionalProperties": False,
}
HF = "hf[toybox-mllm]"
PROTOCOLS = ("abstention", "free_form")
IMAGES = 8
WORDS = """
naive = ["What species of bird is in this image?"]
refuse = ["What species is it? If unsure, refuse and say why."]
"""
Rows = list[dict[str, str]]


@pytest.fixture(scope="module")
def engine() -> Iterator[VllmGenerator]:
    """The same model in this process."""
    model = VllmGenerator(parse_spec(f"vllm[toybox-mllm,max_model_len={ROOM}]"), offline=True)
    yield model
    model.close()


def has_room(item: Item) -> bool:
    """Whether a question is read by an engine with room for 1,024 tokens: not one with a thousand names."""
    return len(item.question.prompt) < 4 * ROOM


@pytest.fixture(scope="module")
def exam() -> list[Request]:
    """Questions of every skill in every group of styles, some about two pictures."""
    each = -(-REQUESTS // (len(skills()) * len(groups()))) + 1
    items = [item for skill in skills() for group in groups() for item in islice(skill.items(group, 12), each)]
    asked = [item.request for item in items if has_room(item)]
    two = [Request((one.parts[0], other.parts[0], SECOND)) for one, other in pairwise(asked)]
    step = len(asked) // (REQUESTS - 6)
    return [*asked[: step * (REQUESTS - 6) : step], *two[:6]]


@dataclass(frozen=True)
class Readings:
    """What a model makes of pictures and of a text alone."""

    answers: list[Answer]
    texts: list[Answer]
    best: list[int]
    scores: dict[str, Floats]


def read(model: Scorer, requests: list[Request]) -> Readings:
    known = [each.name for each in species()]
    scores = {
        "names": model.score(requests[:4], names()),
        "species": model.score(requests[:4], known, until="unique"),
        "names of texts": model.score(TEXTS, names()),
        "species of texts": model.score(TEXTS, known, until="unique"),
    }
    best = model.best(TEXTS, names())[0].tolist()
    return Readings(generate_all(model, requests, TOKENS), generate_all(model, TEXTS, TOKENS), best, scores)


@pytest.fixture(scope="module")
def both(exam: list[Request], engine: VllmGenerator) -> tuple[Readings, Readings]:
    """Through transformers and, after that, through vLLM, which takes the classes for itself while it works."""
    first = read(HfGenerator(parse_spec("hf[toybox-mllm]"), offline=True), exam)
    return first, read(engine, exam)


def test_vllm_says_what_transformers_says(both: tuple[Readings, Readings]) -> None:
    pairs = list(zip(*(one.answers for one in both), strict=True))
    assert len(pairs) == REQUESTS
    assert sum(one.tokens == other.tokens for one, other in pairs) >= LEAST
    assert len({one.text for one, _ in pairs}) > 10


@pytest.mark.parametrize("what", ["names", "species", "names of texts", "species of texts"])
def test_choices_are_as_likely_through_both(both: tuple[Readings, Readings], what: str) -> None:
    one, other = (each.scores[what] for each in both)
    np.testing.assert_allclose(one, other, atol=1e-3)
    assert np.ptp(one) > 1


def test_species_have_probabilities(both: tuple[Readings, Readings]) -> None:
    shares = [np.exp(each.scores["species"].astype(np.float64)) for each in both]
    one, other = (each / each.sum(axis=1, keepdims=True) for each in shares)
    np.testing.assert_allclose(one.sum(axis=1), 1, atol=1e-9)
    np.testing.assert_allclose(one, other, atol=1e-3)


def test_a_text_alone_is_read_alike_through_both(both: tuple[Readings, Readings]) -> None:
    one, other = both
    assert [answer.tokens for answer in one.texts] == [answer.tokens for answer in other.texts]
    assert one.best == other.best == one.scores["names of texts"].argmax(axis=1).tolist()


@pytest.fixture(scope="module")
def url(warm_vllm: Sequence[str]) -> Iterator[str]:
    """The packaged model behind vLLM's own server."""
    folder = Path(str(files("eyechart.samples"))) / "toybox-mllm"
    serving = run_path(str(Path(__file__).with_name("vllm_server.py")))["serving"]
    with serving(folder, "--max-model-len", str(ROOM), python=warm_vllm) as found:
        yield found


@pytest.fixture(scope="module")
def server(url: str) -> Iterator[OpenAiGenerator]:
    """The server as a model."""
    model = OpenAiGenerator(parse_spec(f"openai[served,base_url={url}]"), offline=True)
    yield model
    model.close()


@pytest.fixture(scope="module")
def requests() -> list[Request]:
    """Questions of every skill, words before, between and after pictures, and one without any."""
    items = [item for skill in skills() for item in islice(skill.items(groups()[0], 8), 2)]
    asked = [item.request for item in items if has_room(item)]
    two = [Request((one.parts[0], "and", other.parts[0], "Which are they?")) for one, other in pairwise(asked[:4])]
    return [*asked, *two, Request(("What do you see?", items[0].image)), Request(("What is a dog?",))]


@pytest.fixture(scope="module")
def scorer(url: str) -> Iterator[VllmServerGenerator]:
    """The server as a model with log-probabilities."""
    model = VllmServerGenerator(parse_spec(f"vllm_server[served,base_url={url}]"), offline=True)
    yield model
    model.close()


@pytest.mark.parametrize("until", ["end", "unique"])
def test_a_server_scores_choices_as_the_engine_does(
    scorer: VllmServerGenerator, engine: VllmGenerator, requests: list[Request], until: Until
) -> None:
    choices = ["cat", "caterpillar", "a dog", "cat", "two dogs"]
    asked = [requests[0], *requests[-3:]]
    expected = engine.score(asked, choices, until=until)
    np.testing.assert_allclose(scorer.score(asked, choices, until=until), expected, rtol=0, atol=1e-4)
    assert np.ptp(expected, axis=1).min() > 1


def test_a_server_finds_the_best_choice_of_the_engine(
    scorer: VllmServerGenerator, engine: VllmGenerator, requests: list[Request]
) -> None:
    (found, values), (expected, known) = (model.best(requests[:3], names()[:5]) for model in (scorer, engine))
    assert found.tolist() == expected.tolist()
    np.testing.assert_allclose(values, known, rtol=0, atol=1e-4)


def test_top_logprobs_score_the_answer_but_not_all_names(url: str, scorer: VllmServerGenerator) -> None:
    """What docs/models.md says of servers that return the likeliest tokens of their own answers alone."""
    client, known = OpenAI(base_url=url, api_key="none"), [each.name for each in species()]
    for request in TEXTS:
        (choice,) = client.chat.completions.create(
            model="served", messages=[build_message(request)], max_tokens=TOKENS, temperature=0,
            logprobs=True, top_logprobs=TOP,
        ).choices  # fmt: skip
        assert choice.finish_reason == "stop"
        read = choice.logprobs.content
        answer = choice.message.content.strip()
        exact = scorer.score([request], [answer])[0, 0]
        np.testing.assert_allclose(sum(token.logprob for token in read), exact, rtol=0, atol=1e-4)
        likeliest = {token.token.strip() for token in read[0].top_logprobs} - {""}
        begun = [name for name in known if name.startswith(tuple(likeliest))]
        assert len(begun) < len(known)


def test_it_answers_as_a_server_without_scores(
    scorer: VllmServerGenerator, server: OpenAiGenerator, requests: list[Request]
) -> None:
    assert told(generate_all(scorer, requests[:4], TOKENS)) == told(generate_all(server, requests[:4], TOKENS))
    assert scorer.identity == server.identity


def told(answers: list[Answer]) -> list[tuple[str, bool, int, int]]:
    """What both sides tell; a server tells no tokens, and keeps the space before a word."""
    return [(one.text.strip(), one.finished, one.usage.prompt, one.usage.answer) for one in answers]


def test_a_server_says_what_the_engine_says(
    server: OpenAiGenerator, engine: VllmGenerator, requests: list[Request]
) -> None:
    found, expected = (told(generate_all(model, requests, TOKENS)) for model in (server, engine))
    assert found == expected
    assert len({text for text, *_ in found}) > len(requests) // 3


@pytest.mark.filterwarnings("ignore:max_rollback_tokens is deprecated:DeprecationWarning")  # how vLLM calls xgrammar
def test_a_schema_holds_both(server: OpenAiGenerator, engine: VllmGenerator, requests: list[Request]) -> None:
    found, expected = (told(generate_all(model, requests[:4], 48, SCHEMA)) for model in (server, engine))
    assert found == expected
    assert {tuple(json.loads(text)) for text, finished, *_ in found if finished} == {("1",)}


@pytest.mark.filterwarnings("ignore:max_rollback_tokens is deprecated:DeprecationWarning")  # how vLLM calls xgrammar
def test_a_text_alone_is_held_to_a_long_list_of_names_by_both(server: OpenAiGenerator, engine: VllmGenerator) -> None:
    known = [f"Species number{index}" for index in range(3651)]
    schema = SCHEMA | {"properties": {"1": {"enum": known}}}
    asked = [Request((f"Someone wrote: {text}. Which species is it?",)) for text in ("a gull", "a wren", "no idea")]
    found, expected = (told(generate_all(model, asked, 48, schema)) for model in (server, engine))
    assert found == expected
    assert {json.loads(text)["1"] for text, *_ in found} <= {*known}


def test_too_long_a_request_is_an_error_of_its_own_on_both(server: OpenAiGenerator, engine: VllmGenerator) -> None:
    grey = Image.new("RGB", (64, 64), (128, 128, 128))
    asked = [Request((grey, "so on " * 1000)), Request((grey, "What is this?"))]
    for model in (server, engine):
        refused, answered = generate_all(model, asked, TOKENS)
        assert (refused.text, refused.retry, answered.error) == ("", False, "")
        assert "1024 tokens" in refused.error


def test_a_server_tells_what_its_cache_held(server: OpenAiGenerator) -> None:
    shared = " ".join(f"name {index}" for index in range(60))
    (first,), (second,) = (generate_all(server, [Request((shared, f"{last}?"))], 1) for last in "ab")
    assert first.usage.cached < second.usage.cached
    assert second.usage.cached >= second.usage.prompt - 40


@dataclass(frozen=True)
class Served:
    """A run of a server's model and of the same in the run's own process; `spec` is the former."""

    folder: Path
    spec: str
    records: Mapping[tuple[str, str], dict[str, Any]]

    def rows(self, model: str, protocol: str) -> Rows:
        """What a case wrote."""
        with (self.folder / self.records[model, protocol]["predictions"]["path"]).open(encoding="utf-8") as file:
            return list(csv.DictReader(file))


@pytest.fixture(scope="module")
def served(url: str, tmp_path_factory: pytest.TempPathFactory, warm_python: Sequence[str]) -> Served:
    folder, spec = tmp_path_factory.mktemp("served"), f"openai[served,base_url={url}]"
    (folder / "mine.toml").write_text(WORDS)
    command = [*warm_python, "-m", "pytest", "--pyargs", "eyechart.benchmarks", "--eye-offline"]
    command += [
        f"--eye-limit={IMAGES}",
        "--eye-set=abstention.prompt_set=mine.toml",
        f"--eye-model={HF}",
        f"--eye-model={spec}",
    ]
    command += ["-k", "realbirdid/sample-drawn/ and (free_form or abstention)", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    latest = folder / "reports" / "runs" / "latest"
    records = json.loads((latest / "records.json").read_text(encoding="utf-8"))["records"]
    return Served(latest, spec, {(each["model"]["spec"], each["protocol"]): each for each in records})


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_server_says_of_birds_what_the_engine_says(served: Served, protocol: str) -> None:
    hf, other = ([row["response"].strip() for row in served.rows(model, protocol)] for model in (HF, served.spec))
    assert other == hf
    assert len({*hf}) > 2


@pytest.fixture(scope="module")
def readers() -> Mapping[str, Any]:
    """Who reads names of birds, and reasons, without a model."""
    birds = open_realbirdid("sample-drawn").selected_details
    assert birds is not None
    names = BirdVocabulary.from_taxonomy(birds.taxonomy)
    return {"abstention": ReasonParser(names), "free_form": names}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_its_choices_are_read_as_json_and_stand_in_the_list(served: Served, readers: Any, protocol: str) -> None:
    names = CHOICES if protocol == "abstention" else readers[protocol].choices
    column = "stated_reason" if protocol == "abstention" else "prediction"
    chosen = {row[column] for row in served.rows(served.spec, protocol)} - {""}
    assert "json_answers" in served.records[served.spec, protocol]["variant"]["parser_version"]
    assert chosen
    assert chosen <= {*names}


def test_only_what_is_no_choice_by_itself_is_asked_about_once(served: Served, readers: Any) -> None:
    again = 0
    for protocol in PROTOCOLS:
        rows, record = served.rows(served.spec, protocol), served.records[served.spec, protocol]
        open_ = {text for row in rows if readers[protocol].parse_exact(text := row["response"].strip()) < 0} - {""}
        assert record["usage"]["requests"] == len(rows) + len(open_)
        assert record["outcomes"]["error"] == 0
        again += len(open_)
    assert again > 0


def test_tables_of_words_have_both(served: Served, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("T4", "F7", "F8", "free-form", "wordings"):
        assert main(["table", f"realbirdid-{name}", str(served.folder), "--format", "csv"]) == 0
        models = {row["Model"] for row in csv.DictReader(capsys.readouterr().out.splitlines())}
        assert {model.partition("[")[0] for model in models} == {"hf", "openai"}

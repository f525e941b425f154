"""Birds put to a true server on loopback: its words are those of the engine, its choices keep to a schema."""

import csv
import json
import subprocess
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from importlib.resources import files
from pathlib import Path
from runpy import run_path
from typing import Any

import pytest

from eyechart.birds.bird_words import BirdNames
from eyechart.birds.reason_words import CHOICES, ReasonWords
from eyechart.data.splits import open_realbirdid
from eyechart.reports.__main__ import main

HF = "hf[toybox-mllm]"
PROTOCOLS = ("abstention", "free_form")
IMAGES, ROOM = 24, 1024
WORDS = """
naive = ["What species of bird is in this image?"]
refuse = ["What species is it? If unsure, refuse and say why."]
"""
Rows = list[dict[str, str]]


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
def url() -> Iterator[str]:
    """The packaged model behind vLLM's own server."""
    folder = Path(str(files("eyechart.samples"))) / "toybox-mllm"
    serving = run_path(str(Path(__file__).parents[1] / "vllm_server.py"))["serving"]
    with serving(folder, "--max-model-len", str(ROOM)) as found:
        yield found


@pytest.fixture(scope="module")
def served(url: str, tmp_path_factory: pytest.TempPathFactory, warm_python: Sequence[str]) -> Served:
    folder, spec = tmp_path_factory.mktemp("served"), f"openai[served,base_url={url}]"
    (folder / "mine.toml").write_text(WORDS)
    command = [*warm_python, "-m", "pytest", "--pyargs", "eyechart.benchmarks", "--eye-offline"]
    command += [f"--eye-limit={IMAGES}", "--eye-wordings=mine.toml", f"--eye-model={HF}", f"--eye-model={spec}"]
    command += ["-k", "realbirdid/sample-drawn/ and (free_form or abstention)", "-p", "no:cacheprovider"]
    done = subprocess.run(command, cwd=folder, capture_output=True, text=True, check=False, timeout=600)
    assert done.returncode == 0, done.stdout + done.stderr
    latest = folder / "reports" / "runs" / "latest"
    records = json.loads((latest / "records.json").read_text(encoding="utf-8"))["records"]
    return Served(latest, spec, {(each["model"]["spec"], each["protocol"]): each for each in records})


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_a_server_says_of_birds_what_the_engine_says(served: Served, protocol: str) -> None:
    hf, other = ([row["said"].strip() for row in served.rows(model, protocol)] for model in (HF, served.spec))
    assert other == hf
    assert len({*hf}) > 3


@pytest.fixture(scope="module")
def readers() -> Mapping[str, Any]:
    """Who reads names of birds, and reasons, without a model."""
    birds = open_realbirdid("sample-drawn").observed
    assert birds is not None
    names = BirdNames.of(birds.taxonomy)
    return {"abstention": ReasonWords(names), "free_form": names}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_its_choices_are_read_as_json_and_stand_in_the_list(served: Served, readers: Any, protocol: str) -> None:
    names = CHOICES if protocol == "abstention" else readers[protocol].choices
    chosen = {row["extracted"] for row in served.rows(served.spec, protocol)} - {""}
    assert "json_answers" in served.records[served.spec, protocol]["variant"]["parser"]
    assert chosen
    assert chosen <= {*names}


@pytest.mark.parametrize("protocol", PROTOCOLS)
def test_only_what_is_no_choice_by_itself_is_asked_about_once(served: Served, readers: Any, protocol: str) -> None:
    rows, record = served.rows(served.spec, protocol), served.records[served.spec, protocol]
    open_ = {text for row in rows if readers[protocol].plainly(text := row["said"].strip()) < 0} - {""}
    assert record["served"]["requests"] == len(rows) + len(open_)
    assert (bool(open_), record["outcomes"]["error"]) == (True, 0)


def test_tables_of_words_have_both(served: Served, capsys: pytest.CaptureFixture[str]) -> None:
    for name in ("T4", "F7", "F8", "free-form", "wordings"):
        assert main(["table", f"realbirdid-{name}", str(served.folder), "--format", "csv"]) == 0
        models = {row["Model"] for row in csv.DictReader(capsys.readouterr().out.splitlines())}
        assert {model.partition("[")[0] for model in models} == {"hf", "openai"}

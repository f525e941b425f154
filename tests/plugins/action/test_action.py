"""action.yml: valid, documented, and its steps do what they say from the evaluation to the exit status."""

import json
import re
import subprocess
from pathlib import Path
from typing import Any

import jsonschema
import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
SCHEMA = json.loads((ROOT / "tests/vendor/github-action.json").read_bytes())
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
GUIDE = (ROOT / "docs/ci.md").read_text(encoding="utf-8")
MARK = "<!-- eyechart: eyechart -->"


def test_the_action_is_valid() -> None:
    jsonschema.validate(ACTION, SCHEMA)


def test_its_actions_are_pinned_as_those_of_the_workflow() -> None:
    workflow = (ROOT / ".github/workflows/eyechart.yml").read_text(encoding="utf-8")
    used = [step["uses"] for step in STEPS if "uses" in step]
    assert len(used) == 4
    assert [action for action in used if action not in workflow] == []


def test_every_input_is_used_and_in_the_guide_and_every_output_is_of_a_step() -> None:
    text = json.dumps(STEPS)
    ids = {step["id"] for step in STEPS if "id" in step}
    assert [name for name in ACTION["inputs"] if f"inputs.{name} " not in text] == []
    rows = dict(re.findall(r"^\| `([\w-]+)` \| (?:`(.*?)`)? ?\|", GUIDE, re.MULTILINE))
    assert {name: rows[name] for name in ACTION["inputs"] if name != "token"} == {
        name: value["default"] for name, value in ACTION["inputs"].items() if name != "token"
    }
    assert {re.findall(r"steps\.(\w+)\.outputs", output["value"])[0] for output in ACTION["outputs"].values()} <= ids
    assert [name for name in ACTION["outputs"] if f"`{name}`" not in GUIDE] == []


def test_no_input_is_part_of_a_script() -> None:
    """An input of a pull request, such as a branch's name, would be run."""
    assert [step["name"] for step in STEPS if "${{" in step.get("run", "")] == []


@pytest.mark.parametrize("path", sorted((ROOT / "action").glob("*.sh")), ids=lambda path: path.name)
def test_a_script_is_used_and_can_be_parsed(path: Path) -> None:
    assert [step for step in STEPS if f"/action/{path.name}" in step.get("run", "")]
    assert "set -euo pipefail\n" in path.read_text(encoding="utf-8")
    subprocess.run(["bash", "-n", path], check=True)


def test_the_workflow_of_the_guide_uses_the_action_with_inputs_that_it_has() -> None:
    (text,) = re.findall(r"^(    name: eyechart\n(?:    .*\n|\n)+)", GUIDE, re.MULTILINE)
    (guide,) = yaml.safe_load(text)["jobs"].values()
    (step,) = [step for step in guide["steps"] if step.get("uses", "").startswith("OWNER/eyechart@")]
    assert {*step["with"]} <= {*ACTION["inputs"]}
    assert guide["permissions"] == {"contents": "read", "pull-requests": "write"}


@pytest.mark.parametrize(("extras", "suffix"), [("models,hub", "[models,hub]"), ("", "")])
def test_install(job: Any, tmp_path: Path, extras: str, suffix: str) -> None:
    programs = tmp_path / "programs"
    programs.mkdir()
    (programs / "pip").write_text('#!/bin/sh\necho "$#" "$@"\n')
    (programs / "pip").chmod(0o755)
    job.programs, job.inputs["extras"] = str(programs), extras
    assert job.run("Install") == 0
    assert job.log == f"2 install {ROOT}{suffix}\n"


@pytest.mark.deep
def test_a_pull_request_is_reported_and_its_comment_updated(job: Any, gated: Any, server: Any) -> None:
    gated.kept()
    assert job.run("Gate", "Report", "Comment", "Result") == 0, job.log
    assert job.outputs["gate"] == {"status": "0"}
    assert job.outputs["report"]["verdict"] == "no regression"
    assert json.loads(Path(job.outputs["report"]["verdicts"]).read_bytes())["exit_status"] == 0
    assert "# eyechart: 1 passed" in job.summary
    assert (job.report / "page" / "index.html").exists()
    (comment,) = server.comments
    assert comment["body"].startswith(
        f"{MARK}\n[job](https://github.com/me/pets/actions/runs/42)\n\n# eyechart: 1 passed"
    )

    gated.answer(wrong=18)
    job.outputs = {"artifact": {"artifact-url": "https://github.com/me/pets/artifacts/1"}}
    assert job.run("Gate") == 0, job.log
    assert job.outputs["gate"] == {"status": "10"}
    assert job.run("Report") == 0, job.log
    assert job.outputs["report"]["verdict"] == "regression"
    assert Path(job.outputs["report"]["run"], "records.json").exists()
    errors = [line for line in job.log.splitlines() if line.startswith("::error ")]
    assert re.fullmatch(
        r"::error title=imagenet/tiny/replay\[path=a\.csv\] \(replay\)::regression: acc1 \(ImGT\) "
        r"100\.00 %25 -> 0\.00 %25 \(n=18, p=\S+; 18 lost, 0 gained\)",
        errors[0],
    )
    assert job.run("Comment") == 0, job.log
    assert job.log == "The comment of pull request 7 was updated.\n"
    (updated,) = server.comments
    assert updated["id"] == comment["id"]
    assert (
        " · [page with every image](https://github.com/me/pets/artifacts/1)\n\n# eyechart: 1 failed" in updated["body"]
    )
    assert job.run("Result") == 10
    assert server.tokens == {"Bearer a-token"}
    assert "a-token" not in job.summary + json.dumps(server.comments)


@pytest.mark.deep
def test_a_run_without_a_baseline_has_no_verdict(job: Any, gated: Any) -> None:
    gated.answer()
    job.inputs |= {"baseline": ""}
    assert job.run("Gate", "Report", "Result") == 0, job.log
    assert job.outputs["report"]["verdict"] == ""


@pytest.mark.deep
def test_a_wrong_input_ends_with_the_status_of_the_evaluation(job: Any, gated: Any, server: Any) -> None:
    gated.answer()
    job.inputs |= {"margin": "2"}
    assert job.run("Gate") == 0
    assert "--eye-margin" in job.log
    assert job.run("Report", "Comment") == 0, job.log
    assert job.log.startswith("No comment: ")
    assert job.run("Result") == 4
    assert server.comments == []

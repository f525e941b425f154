"""The workflow is one that GitHub can read, pins what it uses, and has the commands of docs/ci.md and no others."""

import os
import re
import subprocess
import sys
import tomllib
from pathlib import Path
from typing import Any

import pytest
import yaml

from eyechart.gate.policy.tiers import read_policy
from eyechart.plugins.exit_codes import MEANINGS
from eyechart.plugins.options import OPTIONS

ROOT = Path(__file__).parents[2]
WORKFLOW = ROOT / ".github" / "workflows" / "eyechart.yml"
GUIDE = (ROOT / "docs" / "ci.md").read_text(encoding="utf-8")
JOB_CONTEXTS = {"github", "needs", "strategy", "matrix", "vars", "secrets", "inputs"}  # what a job's env may name


@pytest.fixture(scope="module")
def workflow() -> dict[Any, Any]:
    """The whole file."""
    found: dict[Any, Any] = yaml.safe_load(WORKFLOW.read_text(encoding="utf-8"))
    return found


@pytest.fixture(scope="module")
def job(workflow: dict[Any, Any]) -> dict[str, Any]:
    """Its one job."""
    (found,) = workflow["jobs"].values()
    return dict(found)


def test_it_runs_for_every_change_and_may_only_read(workflow: dict[Any, Any]) -> None:
    assert {*workflow[True]} == {"pull_request", "push", "workflow_dispatch"}  # YAML reads `on` as true
    assert workflow["permissions"] == {"contents": "read"}


def test_every_action_is_pinned_by_a_whole_version(job: dict[str, Any]) -> None:
    used = [step["uses"] for step in job["steps"] if "uses" in step]
    assert len(used) == 5
    assert [each for each in used if not re.fullmatch(r"actions/[\w/-]+@v\d+\.\d+\.\d+", each)] == []


def test_a_step_uses_or_runs(job: dict[str, Any]) -> None:
    assert [step for step in job["steps"] if ("uses" in step) == ("run" in step) or "name" not in step] == []


def test_what_a_jobs_environment_names_is_known_there(job: dict[str, Any]) -> None:
    found = {each for text in job["env"].values() for each in re.findall(r"\$\{\{\s*(\w+)", text)}
    assert found <= JOB_CONTEXTS


def test_what_is_told_is_told_after_a_failure_too(job: dict[str, Any]) -> None:
    names = [step["name"] for step in job["steps"]]
    after = job["steps"][names.index("Gate") + 1 :]
    assert len(after) == 5
    assert all("!cancelled()" in step["if"] for step in after)


def test_the_store_is_kept_under_the_key_it_is_looked_for(job: dict[str, Any]) -> None:
    restore, save = (step for step in job["steps"] if "cache/" in step.get("uses", ""))
    assert restore["with"]["key"].startswith(restore["with"]["restore-keys"])
    assert save["with"]["key"] == f"${{{{ steps.{restore['id']}.outputs.cache-primary-key }}}}"
    assert restore["with"]["path"] == save["with"]["path"] == ".eyechart/store"


def test_its_commands_are_those_of_the_guide(job: dict[str, Any]) -> None:
    (script,) = re.findall(r"```bash\n(.+?)```", GUIDE, re.DOTALL)
    lines = [line.strip().removesuffix(" || status=$?") for line in script.splitlines()]
    runs = [line for step in job["steps"] for line in step.get("run", "").splitlines()]
    assert [line for line in lines if re.match("pip|pytest|cat|eyechart|head", line)] == runs


@pytest.mark.deep
def test_the_gate_needs_no_more_than_is_installed_for_it(job: dict[str, Any]) -> None:
    (installed,) = [step["run"] for step in job["steps"] if step["name"] == "Install"]
    assert installed == "pip install '.[models]'"
    without = "import sys, pytest; sys.modules |= dict.fromkeys(('hypothesis', 'playwright', 'statsmodels', 'yaml'))"
    options = "'--pyargs', 'eyechart.benchmarks', '--collect-only', '-qq', '-p', 'no:cacheprovider', '-p', 'no:anyio'"
    command = [sys.executable, "-c", f"{without}; sys.exit(pytest.main([{options}]))"]
    env = os.environ | {"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1", "PYTEST_PLUGINS": "eyechart.plugins,xdist.plugin"}
    done = subprocess.run(command, cwd=ROOT, env=env, capture_output=True, text=True, timeout=600, check=False)
    assert done.returncode == 0, done.stdout + done.stderr


def test_the_guide_gates_the_cases_of_the_workflow(job: dict[str, Any]) -> None:
    assert set(re.findall(r"CASES='(.+?)'", GUIDE)) == {job["env"]["CASES"]}


def test_the_guides_settings_for_others_can_be_read(tmp_path: Path) -> None:
    (gitlab,) = re.findall(r"```yaml\n(.+?)```", GUIDE, re.DOTALL)
    options, policy = re.findall(r"```toml\n(.+?)```", GUIDE, re.DOTALL)
    assert yaml.safe_load(gitlab)["eyechart"]["script"] == "bash ci/eyechart.sh"
    assert {*tomllib.loads(options)["tool"]["pytest"]["ini_options"]} <= {option.ini_name for option in OPTIONS}
    (tmp_path / "policy.toml").write_text(policy)
    assert [rule.split for rule in read_policy(tmp_path / "policy.toml").rules] == ["imagenet/*", "imagenet/sketch"]


def test_the_guide_explains_every_exit_status() -> None:
    found = {int(status): said for status, said in re.findall(r"^\| (\d+) \| (.+) \|$", GUIDE, re.MULTILINE)}
    assert found == dict(MEANINGS)


def test_the_readme_points_to_the_guide() -> None:
    assert "docs/ci.md" in (ROOT / "README.md").read_text(encoding="utf-8")

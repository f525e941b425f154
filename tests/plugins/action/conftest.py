"""The steps of action.yml as GitHub runs them: scripts with their environment, and a server instead of GitHub."""

import json
import os
import re
import shlex
import subprocess
import threading
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
import yaml

ROOT = Path(__file__).resolve().parents[3]
ACTION = yaml.safe_load((ROOT / "action.yml").read_text(encoding="utf-8"))
STEPS: list[dict[str, Any]] = ACTION["runs"]["steps"]
EXPRESSION = re.compile(r"\$\{\{ (\w+)\.([\w.-]+) \}\}")
NOT_KEPT = ("PYTEST", "GITHUB", "CI", "BUILD_NUMBER", "RUNNER")


class Server(ThreadingHTTPServer):
    """The comments of a pull request, as GitHub's API gives and takes them."""

    comments: list[dict[str, Any]]
    requests: list[str]
    tokens: set[str | None]
    refuses = False

    def add(self, body: str, author: str = "Bot") -> None:
        self.comments.append({"id": 100 + len(self.comments), "body": body, "user": {"type": author}})


class Handler(BaseHTTPRequestHandler):
    """Answers a request about comments."""

    server: Server

    def log_message(self, format: str, *args: Any) -> None:  # noqa: A002
        """Print nothing."""

    def answer(self, status: int, content: Any) -> None:
        data = json.dumps(content).encode()
        self.send_response(status)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def handle_comments(self) -> None:
        server, url = self.server, urlsplit(self.path)
        server.requests.append(f"{self.command} {url.path}")
        server.tokens.add(self.headers["Authorization"])
        content = json.loads(self.rfile.read(int(self.headers.get("Content-Length") or 0)) or "{}")
        if server.refuses:
            self.answer(403, {"message": "Resource not accessible by integration"})
        elif self.command == "GET":
            query = parse_qs(url.query)
            size, page = int(query["per_page"][0]), int(query["page"][0])
            self.answer(200, server.comments[size * (page - 1) : size * page])
        elif self.command == "POST":
            server.add(content["body"])
            self.answer(201, server.comments[-1])
        else:
            (known,) = [comment for comment in server.comments if url.path.endswith(f"/{comment['id']}")]
            known |= content
            self.answer(200, known)

    do_GET = do_POST = do_PATCH = handle_comments  # noqa: N815


@pytest.fixture
def server() -> Iterator[Server]:
    """A server instead of api.github.com."""
    with Server(("127.0.0.1", 0), Handler) as made:
        made.comments, made.requests, made.tokens = [], [], set()
        thread = threading.Thread(target=made.serve_forever)
        thread.start()
        yield made
        made.shutdown()
        thread.join()


@dataclass
class Job:
    """A job that uses the action: its folder, its inputs, and the outputs of its steps."""

    folder: Path
    temporary: Path
    api: str
    programs: str
    inputs: dict[str, str] = field(default_factory=dict)
    outputs: dict[str, dict[str, str]] = field(default_factory=dict)
    log: str = ""

    def __post_init__(self) -> None:
        self.temporary.mkdir()
        (self.temporary / "event.json").write_text(json.dumps({"pull_request": {"number": 7}}))

    @property
    def report(self) -> Path:
        return self.temporary / "eyechart"

    @property
    def summary(self) -> str:
        return (self.temporary / "job.md").read_text(encoding="utf-8")

    def resolve(self, text: str) -> str:
        """Put the values of inputs and outputs instead of expressions."""

        def value(match: re.Match[str]) -> str:
            context, name = match.groups()
            if context == "inputs":
                return self.inputs.get(name, str(ACTION["inputs"][name].get("default", "")))
            step, _, output = name.split(".")
            return self.outputs.get(step, {}).get(output, "")

        return EXPRESSION.sub(value, text)

    def environment(self, step: Mapping[str, Any]) -> dict[str, str]:
        """What GitHub gives to a step."""
        kept = {name: value for name, value in os.environ.items() if not name.startswith(NOT_KEPT)}
        return kept | {
            "PATH": f"{self.programs}{os.pathsep}{kept['PATH']}",
            "RUNNER_TEMP": str(self.temporary),
            "GITHUB_ACTION_PATH": str(ROOT),
            "GITHUB_API_URL": self.api,
            "GITHUB_SERVER_URL": "https://github.com",
            "GITHUB_REPOSITORY": "me/pets",
            "GITHUB_RUN_ID": "42",
            "GITHUB_EVENT_PATH": str(self.temporary / "event.json"),
            "GITHUB_OUTPUT": str(self.temporary / "output"),
            "GITHUB_STEP_SUMMARY": str(self.temporary / "job.md"),
            "PYTEST_ADDOPTS": "-p no:cacheprovider -p no:hypothesispytest -p no:anyio",
            **{name: self.resolve(str(value)) for name, value in step.get("env", {}).items()},
        }

    def run(self, *names: str) -> int:
        """Run some steps; the exit status of the first that fails, else 0."""
        for name in names:
            (step,) = [step for step in STEPS if step["name"] == name]
            (self.temporary / "output").write_text("")
            command = ["bash", "--noprofile", "--norc", "-e", "-o", "pipefail", "-c", step["run"]]
            done = subprocess.run(
                command, cwd=self.folder, env=self.environment(step), capture_output=True, text=True, check=False
            )
            self.log = done.stdout + done.stderr
            lines = (self.temporary / "output").read_text().splitlines()
            self.outputs[step.get("id", name)] = dict(line.split("=", 1) for line in lines)
            if done.returncode:
                return done.returncode
        return 0


@pytest.fixture(scope="session")
def programs(tmp_path_factory: pytest.TempPathFactory, warm_python: Sequence[str]) -> str:
    """A folder with `python` and `eyechart`, forks of the warm interpreter: a job starts about ten of them."""
    folder = tmp_path_factory.mktemp("programs")
    for name, command in {"python": warm_python, "eyechart": (*warm_python, "-m", "eyechart")}.items():
        (folder / name).write_text(f'#!/bin/sh\nexec {shlex.join(command)} "$@"\n')
        (folder / name).chmod(0o755)
    return str(folder)


@pytest.fixture
def job(gated: Any, tmp_path: Path, server: Server, programs: str) -> Job:
    """A job whose model is a file of answers."""
    inputs = {
        "model": "\nreplay[path=a.csv]\r\n",
        "data": str(gated.world.data),
        "keyword": "imagenet/tiny/ and not zero_shot",
        "baseline": "kept",
        "options": "\n--eye-offline\n",
        "token": "a-token",
    }
    api = f"http://127.0.0.1:{server.server_port}"
    return Job(gated.world.folder, tmp_path / "runner", api, programs, inputs)

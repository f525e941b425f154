"""Write a summary as a comment of the pull request; the comment of an earlier run is updated.

The comment is known by a mark in its first line and by its author, a bot: that of a person is never changed. A token
that may not write comments, as that of a pull request from a fork, is a warning.
"""

import json
import os
import sys
from pathlib import Path
from typing import Any
from urllib.error import HTTPError, URLError
from urllib.request import Request, urlopen

MAX_LENGTH, PAGE, TIMEOUT = 60_000, 100, 30  # characters (GitHub takes 65,536), comments, seconds
BOT = "Bot"


def call(method: str, path: str, content: object = None) -> Any:
    """Return the answer of GitHub's API. Raises HTTPError or URLError."""
    headers = {
        "Accept": "application/vnd.github+json",
        "Authorization": f"Bearer {os.environ['TOKEN']}",
        "Content-Type": "application/json",
        "X-GitHub-Api-Version": "2022-11-28",
    }
    data = None if content is None else json.dumps(content).encode()
    request = Request(f"{os.environ['GITHUB_API_URL']}{path}", data, headers, method=method)
    with urlopen(request, timeout=TIMEOUT) as response:
        return json.load(response)


def find_comment(repository: str, number: int, mark: str) -> int | None:
    """Return the id of the comment of an earlier run, None without one."""
    page = 1
    while comments := call("GET", f"{repository}/issues/{number}/comments?per_page={PAGE}&page={page}"):
        for comment in comments:
            if comment["user"]["type"] == BOT and (comment["body"] or "").startswith(mark):
                return int(comment["id"])
        page += 1
    return None


def make_body(mark: str, summary: str) -> str:
    """Return the text of the comment: the mark, the links, and as much of the summary as GitHub takes."""
    server, repository, run = (os.environ[f"GITHUB_{name}"] for name in ("SERVER_URL", "REPOSITORY", "RUN_ID"))
    job = f"{server}/{repository}/actions/runs/{run}"
    artifact = os.environ.get("ARTIFACT", "")
    links = f"[job]({job})" + (f" · [page with every image]({artifact})" if artifact else "")
    shown = summary if len(summary) <= MAX_LENGTH else f"{summary[:MAX_LENGTH]}\n…"
    return f"{mark}\n{links}\n\n{shown}"


def main(summary: Path) -> str:
    """Write the comment, and return a line for the log."""
    event = json.loads(Path(os.environ["GITHUB_EVENT_PATH"]).read_bytes())
    if "pull_request" not in event:
        return "No comment: the job is not one of a pull request."
    if not summary.exists():
        return "No comment: the evaluation ended before it wrote a summary."
    mark = f"<!-- eyechart: {os.environ['NAME']} -->"
    body = {"body": make_body(mark, summary.read_text(encoding="utf-8"))}
    repository, number = f"/repos/{os.environ['GITHUB_REPOSITORY']}", event["pull_request"]["number"]
    try:
        known = find_comment(repository, number, mark)
        if known is None:
            call("POST", f"{repository}/issues/{number}/comments", body)
        else:
            call("PATCH", f"{repository}/issues/comments/{known}", body)
    except HTTPError as error:
        remedy = "Give the job the permission pull-requests: write; a pull request from a fork cannot have it."
        return f"::warning title=eyechart::No comment: GitHub answered {error.code} ({error.reason}). {remedy}"
    except URLError as error:
        return f"::warning title=eyechart::No comment: {os.environ['GITHUB_API_URL']} was not reached ({error.reason})."
    return f"The comment of pull request {number} was {'written' if known is None else 'updated'}."


if __name__ == "__main__":
    print(main(Path(sys.argv[1])))

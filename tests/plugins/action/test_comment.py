"""The comment of a pull request: one for each name, updated, and never that of a person."""

from collections.abc import Callable
from typing import Any

import pytest

MARK = "<!-- eyechart: eyechart -->"


@pytest.fixture
def commented(job: Any) -> Callable[[], str]:
    """Run the step of the comment after a good session; what it printed."""
    job.report.mkdir()
    (job.report / "summary.md").write_text("# eyechart: 1 passed\n")

    def run() -> str:
        assert job.run("Comment") == 0, job.log
        return job.log

    return run


def test_a_comment_of_a_person_or_of_another_name_is_not_changed(
    commented: Callable[[], str], server: Any, job: Any
) -> None:
    others = [(f"{MARK}\nmine", "User"), ("<!-- eyechart: other -->\n", "Bot"), (f"see {MARK}", "Bot")]
    for body, author in others:
        server.add(body, author)
    assert commented() == "The comment of pull request 7 was written.\n"
    assert [comment["body"] for comment in server.comments[:3]] == [body for body, _ in others]
    assert commented() == "The comment of pull request 7 was updated.\n"
    assert len(server.comments) == 4
    job.inputs["name"] = "other"
    commented()
    assert len(server.comments) == 4
    assert "1 passed" in server.comments[1]["body"]


def test_a_comment_is_found_behind_many_others(commented: Callable[[], str], server: Any) -> None:
    for number in range(230):
        server.add(f"comment {number}", "User")
    commented()
    assert commented() == "The comment of pull request 7 was updated.\n"
    assert len(server.comments) == 231


def test_a_long_summary_is_cut(commented: Callable[[], str], server: Any, job: Any) -> None:
    (job.report / "summary.md").write_text("x" * 100_000)
    commented()
    assert 60_000 < len(server.comments[0]["body"]) < 65_536


def test_a_token_that_may_not_comment_is_a_warning(commented: Callable[[], str], server: Any) -> None:
    server.refuses = True
    assert commented().startswith(
        "::warning title=eyechart::No comment: GitHub answered 403 (Forbidden). Give the job "
    )


def test_a_server_that_is_gone_is_a_warning(commented: Callable[[], str], job: Any) -> None:
    job.api = "http://127.0.0.1:1"
    assert commented().startswith("::warning title=eyechart::No comment: http://127.0.0.1:1 was not reached (")


def test_a_push_has_no_comment(commented: Callable[[], str], server: Any, job: Any) -> None:
    (job.temporary / "event.json").write_text('{"ref": "refs/heads/main"}')
    assert commented() == "No comment: the job is not one of a pull request.\n"
    assert server.requests == []

"""`--eye-remote` copies answers from a store at a URL, after a check of their digests; the rest is asked."""

from pathlib import Path
from runpy import run_path
from typing import Any

import pytest

from eyechart.inference.store.copies import push_store

serve = run_path(str(Path(__file__).parents[1] / "range_server.py"))["serve"]
PICTURES = 24  # of both small splits
pytestmark = pytest.mark.deep


@pytest.fixture(scope="module")
def pushed(serial: Any, tmp_path_factory: pytest.TempPathFactory) -> Path:
    """The folder of a remote store with all answers of both models."""
    folder = tmp_path_factory.mktemp("remote")
    push_store(serial.folder / ".eyechart" / "store", f"file://{folder}")
    return folder


def test_nothing_is_asked_that_the_remote_store_has(world: Any, serial: Any, pushed: Path) -> None:
    with serve(pushed) as server:
        world.passes(f"--eye-remote={server.url}")
    assert (world.asked, world.loads) == (0, [])
    assert world.store == serial.store
    assert world.records == serial.records


def test_stored_answers_are_scored_from_a_url_alone(world: Any, serial: Any, pushed: Path) -> None:
    world.passes("--eye-stored", f"--eye-remote=file://{pushed}")
    assert world.records == serial.records


def test_what_the_remote_store_lacks_is_asked(world: Any, serial: Any, pushed: Path, tmp_path: Path) -> None:
    """The remote store stays as it is."""
    remote = tmp_path / "part"
    for path in sorted(pushed.rglob("*")):
        if path.is_file() and path.parent.name != "models":
            (location := remote / path.relative_to(pushed)).parent.mkdir(parents=True, exist_ok=True)
            location.write_bytes(path.read_bytes())
    (removed, *_) = [path.parent for path in remote.glob("??/*/key.json") if '"class_logits"' in path.read_text()]
    (removed / "done.json").unlink()  # as an upload that was cut off leaves it
    before = sorted(remote.rglob("*"))
    world.passes(f"--eye-remote=file://{remote}")
    assert 0 < world.asked < 2 * PICTURES
    assert world.store == serial.store
    assert sorted(remote.rglob("*")) == before


def test_damaged_answers_are_refused(world: Any, pushed: Path, tmp_path: Path) -> None:
    remote = tmp_path / "damaged"
    for path in sorted(pushed.rglob("*")):
        if path.is_file():
            (location := remote / path.relative_to(pushed)).parent.mkdir(parents=True, exist_ok=True)
            location.write_bytes(b"other" if path.name == "answers.npy" else path.read_bytes())
    result = world.run(f"--eye-remote=file://{remote}")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*the entry * is damaged * Delete it there, and push it again.*"])
    assert world.asked == 0


@pytest.mark.parametrize(
    ("options", "sentence"),
    [
        (("--eye-remote=nonsense://a",), "nonsense://a cannot be opened"),
        (("--eye-remote=http://127.0.0.1:9/a", "--eye-offline"), "offline mode opens no connection"),
    ],
)
def test_urls_that_cannot_be_used_are_refused(
    pytester: pytest.Pytester, options: tuple[str, ...], sentence: str
) -> None:
    result = pytester.runpytest_inprocess("--pyargs", "eyechart.benchmarks", *options)
    said = "\n".join([*result.outlines, *result.errlines])
    assert result.ret == 4
    assert f"--eye-remote: {options[0].partition('=')[2]}" in said
    assert sentence in said


def test_a_server_that_is_gone_ends_the_case_with_a_sentence(world: Any) -> None:
    world.models = ("tiny[]",)
    result = world.run("-k", "imagenet/tiny2", "--eye-remote=http://127.0.0.1:9/a")
    assert result.ret == 1
    result.stdout.fnmatch_lines(["*The store at http://127.0.0.1:9/a cannot be read (*leave out --eye-remote.*"])

"""File systems at URLs: opened once, refused with a sentence, and errors of their clients as errors of ours."""

import sys

import pytest

from eyechart.errors import DataError, StoreError
from eyechart.files.urls import explain_errors, open_url
from eyechart.messages.install_commands import install_command


def test_a_url_is_a_file_system_that_is_kept_and_a_path_without_a_slash_at_its_end() -> None:
    (files, root), (again, _) = (open_url(f"http://127.0.0.1:9/{name}/", DataError) for name in ("a", "b"))
    assert root == "http://127.0.0.1:9/a"
    assert again is files


def test_a_url_of_a_package_that_is_absent_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "ocifs", None)  # as if it were not installed
    with pytest.raises(
        StoreError, match=r"oci://shelf cannot be opened \(.*ocifs.*\)\. Expected a URL that fsspec kno"
    ):
        open_url("oci://shelf", StoreError)


def test_without_fsspec_the_command_that_installs_it_is_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "fsspec.core", None)
    with pytest.raises(DataError) as refused:
        open_url("s3://shelf", DataError)
    command = install_command("remote")
    assert str(refused.value) == f"s3://shelf needs the package fsspec. Install it with: {command}"


@pytest.mark.parametrize(
    ("error", "said"),
    [
        (ZeroDivisionError("by zero. "), "The shelf cannot be read (ZeroDivisionError: by zero). Look."),
        (TimeoutError(), "The shelf cannot be read (TimeoutError). Look."),
        (DataError("Another sentence."), "The shelf cannot be read (DataError: Another sentence). Look."),
        (StoreError("Our own sentence."), "Our own sentence."),
    ],
    ids=lambda value: type(value).__name__,
)
def test_an_error_of_any_client_is_a_sentence_and_our_own_stays(error: Exception, said: str) -> None:
    with pytest.raises(StoreError) as raised, explain_errors(StoreError, "The shelf cannot be read", ". Look."):
        raise error
    assert str(raised.value) == said
    assert error in (raised.value, raised.value.__cause__)

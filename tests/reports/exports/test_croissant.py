"""Tests of `eyechart.reports.exports.croissant`."""

import csv
import json
from collections.abc import Callable
from hashlib import sha256
from pathlib import Path

import pytest

from eyechart.cli import main

Export = Callable[..., list[Path]]


def test_the_description_of_a_split_names_its_index(export: Export, capsys: pytest.CaptureFixture[str]) -> None:
    index, description = export("croissant", "toybox/sample", "--license=https://spdx.org/licenses/CC0-1.0")
    rows = [*csv.DictReader(index.read_text(encoding="utf-8").splitlines())]
    assert len(rows) == 123
    assert (rows[0]["key"], rows[0]["class"]) == ("google/000", "dog")
    content = json.loads(description.read_bytes())
    assert content["conformsTo"] == "http://mlcommons.org/croissant/1.0"
    (file,) = content["distribution"]
    assert (file["contentUrl"], file["sha256"]) == ("index.csv", sha256(index.read_bytes()).hexdigest())
    (records,) = content["recordSet"]
    assert [field["source"]["extract"]["column"] for field in records["field"]] == [*rows[0]]
    assert all(field["source"]["fileObject"]["@id"] == file["@id"] for field in records["field"])
    assert main(["export", "croissant", "toybox/samples"]) == 2
    assert "There is no split toybox/samples; did you mean toybox/sample" in capsys.readouterr().err

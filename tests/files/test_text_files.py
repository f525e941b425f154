"""Byte order marks, which editors write, in every text file that a user gives: they are never part of the content."""

import gzip
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from eyechart.classification.protocols.helpers.distractors import read_csv_rows
from eyechart.data.index.sample_keys import read_lines
from eyechart.data.labels.class_names import load_class_names, load_templates
from eyechart.data.labels.equivalences import equivalent_pairs
from eyechart.data.labels.label_files import read_labels
from eyechart.data.tables import read_table
from eyechart.errors import DataError, EyechartError
from eyechart.files.text_files import decode_text, open_text
from eyechart.gate.policy.tiers import read_policy
from eyechart.models.served.prices import read_prices
from eyechart.oodbench.data.training_corpus import read_synonyms
from eyechart.protocol.prompts import get_prompt

Read = Callable[[Path], Any]


READERS: dict[str, tuple[str, str, Read]] = {
    "class names": ("a.txt", "blue\nréd\n", lambda path: load_class_names(str(path)).names),
    "templates": ("a.txt", "a {c}\nthe {c}\n", lambda path: load_templates(str(path)).formats),
    "table": ("a.csv", "key,a\n1,é\n", lambda path: read_table(path, ("key",)).columns),
    "answers": ("a.csv", "key,answer\n1,é\n", lambda path: [line.cells for line in read_lines(path, ("key",), "")]),
    "equivalences": ("a.csv", "a,b\n1,2\n", lambda path: equivalent_pairs(str(path))),
    "groups": ("a.json", '{"eq_classes": {"é": [1, 2]}}', lambda path: equivalent_pairs(str(path))),
    "labels": ("a.csv", "file,labels\nb.png,1 2\n", lambda path: read_labels(path).labels),
    "labels as lines": (
        "a.jsonl",
        '{"image_name": "a", "reannotated_labels": [1]}\n',
        lambda path: read_labels(path).labels,
    ),
    "distractors": ("a.csv", "0,1\n2,0\n", lambda path: read_csv_rows(path).tolist()),
    "gate": ("a.toml", "floors = ['a>=0.5']\n", read_policy),
    "prices": ("a.toml", 'date = 2026-11-24\n[models]\n"é" = {input = 1, output = 2}\n', read_prices.__wrapped__),
    "prompt": ("a.toml", 'source = "é"\ntext = "What is it?"\n', lambda path: get_prompt(str(path)).text),
    "synonyms": ("a.csv", "category,words\ncat,kitten\n", lambda path: read_synonyms(path, ["cat"])),
}


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16"])
@pytest.mark.parametrize("reader", READERS)
def test_a_file_with_a_byte_order_mark_is_read_as_one_without(tmp_path: Path, reader: str, encoding: str) -> None:
    name, text, read = READERS[reader]
    for folder, written in (("plain", text.encode()), ("marked", text.replace("\n", "\r\n").encode(encoding))):
        (tmp_path / folder).mkdir()
        (tmp_path / folder / name).write_bytes(written)
    assert read(tmp_path / "marked" / name) == read(tmp_path / "plain" / name)


@pytest.mark.parametrize("data", [b"a\nb\xe9\n", b"\xef\xbb\xbfa\nb\xe9"])
def test_another_encoding_is_named_with_its_line(data: bytes) -> None:
    with pytest.raises(DataError, match=r"names\.txt, line 2 is not UTF-8: it has the byte 0xe9"):
        decode_text(data, "names.txt")


@pytest.mark.parametrize("reader", ["class names", "templates", "table", "answers", "labels", "gate", "groups"])
@pytest.mark.parametrize(
    ("change", "message"),
    [
        (lambda data: data.decode().encode("utf-16-le"), "line 1 has a byte of zero, as UTF-16 without"),
        (gzip.compress, "is compressed with gzip: unpack it"),
        (lambda data: b"PK\3\4" + data, "is a zip archive, or a workbook of Excel"),
        (lambda _: b"version https://git-lfs.github.com/spec/v1\n", "is a pointer of Git LFS"),
    ],
    ids=["utf-16", "gzip", "zip", "lfs"],
)
def test_what_is_no_text_is_called_what_it_is(
    tmp_path: Path, reader: str, change: Callable[[bytes], bytes], message: str
) -> None:
    name, text, read = READERS[reader]
    (tmp_path / name).write_bytes(change(text.encode()))
    with pytest.raises(EyechartError, match=message):
        read(tmp_path / name)


def test_a_large_table_in_utf_16_is_read_wherever_its_first_part_ends(tmp_path: Path) -> None:
    for start in range(2):
        text = "a" * start + "😀" * 20_000
        (tmp_path / "table.csv").write_bytes(text.encode("utf-16"))
        with open_text(tmp_path / "table.csv") as file:
            assert file.read() == text

"""Files of the data sets are the same bytes on every machine."""

from pathlib import Path

from eyechart.toybox.formats.write_json import write_bytes, write_json


def test_json_is_one_line_of_utf_8_in_the_order_of_its_keys(tmp_path: Path) -> None:
    write_json(tmp_path / "new/folder/a.json", {"name": "Straße", "area": 1.0, "box": [0, 2]})
    expected = '{"name":"Straße","area":1.0,"box":[0,2]}\n'
    assert (tmp_path / "new/folder/a.json").read_bytes() == expected.encode("utf-8")


def test_bytes_replace_those_of_an_earlier_file(tmp_path: Path) -> None:
    for data in (b"\r\n longer", b"\n\xff"):
        write_bytes(tmp_path / "new/folder/a.bin", data)
    assert (tmp_path / "new/folder/a.bin").read_bytes() == b"\n\xff"

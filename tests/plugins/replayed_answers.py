"""What tests of plugins share."""

import xml.etree.ElementTree as ElementTree
from pathlib import Path
from typing import Any


def properties(file: Path) -> dict[str, dict[str, str]]:
    """The properties of every case in junit's file."""
    cases = ElementTree.parse(file).getroot().iter("testcase")
    return {
        str(case.get("name")): {str(p.get("name")): str(p.get("value")) for p in case.iter("property")}
        for case in cases
    }


def replayed(world: Any, right: bool = True) -> None:
    """Have a file of answers answer every picture."""
    pictures = sorted((world.data / "imagenet").rglob("*.[jp][pn]g"), key=lambda path: path.name)
    known = {"n01440764": 0, "n01443537": 1, "n02123045": 281}
    rows = [f"{path.parent.parent.name},{path.name},{known[path.parent.name] if right else 7}" for path in pictures]
    (world.folder / "a.csv").write_text("\n".join(["split,key,answer", *rows, ""]))
    world.models = ("replay[path=a.csv]",)

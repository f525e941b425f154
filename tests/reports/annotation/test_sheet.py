"""The sheet is one file that needs nothing else, tells nobody's name, and obeys nothing but its own code."""

import json
import re
from base64 import b64decode, b64encode
from hashlib import sha256
from html import unescape
from html.parser import HTMLParser
from io import BytesIO
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from PIL import Image

from eyechart.errors import ImageError, ReportError

TELLING = ("timm", "efficientnet", "conse", "ReGT", "ImGT", "original", "tiny", "n0", "supervised", "_label")
HOSTILE = (
    "</script><script>document.title='pwned'</script>",
    "<img src=x onerror=\"document.title='pwned'\">",
    "<!--<script>",
    "{{code}} &lt;b&gt; ' \" \\u003c",
    "a\u202eb\nc\x07",
)


class Parts(HTMLParser):
    """What a browser makes of the page: its tags with their attributes, and what stands in scripts and styles."""

    def __init__(self, page: str) -> None:
        super().__init__()
        self.here = ""
        self.tags: list[tuple[str, dict[str, str | None]]] = []
        self.inside: list[tuple[str, str]] = []
        self.feed(page)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        self.tags.append((tag, dict(attrs)))
        self.here = dict(attrs).get("id") or tag if tag in ("script", "style") else ""

    def handle_endtag(self, tag: str) -> None:
        self.here = ""

    def handle_data(self, data: str) -> None:
        if self.here:
            self.inside.append((self.here, data))

    def of(self, name: str) -> str:
        return "".join(data for inside, data in self.inside if inside == name)


def parts(sheet: Path) -> Parts:
    return Parts(sheet.read_text(encoding="utf-8"))


def pictures(parts_: Parts) -> dict[str, bytes]:
    """The bytes of every picture, by its number."""
    uris = {name: data for name, data in parts_.inside if name.startswith("picture-")}
    return {name: b64decode(data.partition("base64,")[2], validate=True) for name, data in uris.items()}


def without_pictures(sheet: Path) -> str:
    return re.sub('<script type="text/plain".*?</script>', "", sheet.read_text(encoding="utf-8"))


@pytest.fixture
def hostile(world: Any) -> Path:
    """A sheet whose class names mean harm."""
    names = [f"{HOSTILE[number % len(HOSTILE)]} {number}".replace("\n", " ") for number in range(1000)]
    (world.out / "names.txt").write_text("\n".join(names), encoding="utf-8")
    return world.sheet(names=str(world.out / "names.txt"))


def test_the_sheet_names_no_model_no_truth_no_category_and_no_file(world: Any) -> None:
    page = without_pictures(world.sheet())
    own = Path(__file__).parents[3] / "src/eyechart/reports/annotation"
    names = ("sheet.html", "sheet.css", "sheet.js", "annotation.html", "annotation.js")
    ours = "".join((own / name).read_text(encoding="utf-8") for name in names)
    counts = {word: page.count(word) for word in (*TELLING, *(key.split("/")[0] for key in world.keys))}
    assert counts == {word: ours.count(word) for word in counts}


def test_the_sheet_holds_the_names_of_each_image_and_nothing_else_of_it(world: Any) -> None:
    sheet = world.sheet()
    data, key = json.loads(parts(sheet).of("sheet")), world.key(sheet)
    assert data == {"sheet": key.sheet, "items": [[c.name for c in item.candidates] for item in key.items]}


def test_one_seed_gives_one_sheet_and_another_gives_another(world: Any) -> None:
    first, again, other = world.sheet("first"), world.sheet("again"), world.sheet("other", seed=7)
    assert first.read_bytes() == again.read_bytes()
    assert world.key(other).sheet != world.key(first).sheet
    orders = [[[c.label for c in item.candidates] for item in world.key(sheet).items] for sheet in (first, other)]
    assert orders[0] != orders[1]


def test_pictures_are_in_their_own_bytes_where_browsers_show_them(world: Any) -> None:
    sheet = world.sheet()
    shown = pictures(parts(sheet))
    for number, item in enumerate(world.key(sheet).items, 1):
        if not item.key.endswith(".ppm"):
            assert shown[f"picture-{number}"] == (world.root / "imagenet" / "tiny" / item.key).read_bytes()


def test_a_picture_that_browsers_do_not_show_becomes_png_with_the_same_pixels(world: Any) -> None:
    sheet = world.sheet()
    (number,) = [n for n, item in enumerate(world.key(sheet).items, 1) if item.key.endswith(".ppm")]
    data = pictures(parts(sheet))[f"picture-{number}"]
    stored = Image.open(next(world.root.glob("imagenet/tiny/*/*.ppm")))
    assert data.startswith(b"\x89PNG")
    np.testing.assert_array_equal(np.asarray(Image.open(BytesIO(data))), np.asarray(stored))


def test_the_policy_allows_the_own_code_and_style_and_nothing_from_elsewhere(world: Any) -> None:
    sheet = parts(world.sheet())
    policy = next(a["content"] for tag, a in sheet.tags if tag == "meta" and "http-equiv" in a) or ""
    for source, name in (("script-src", "script"), ("style-src", "style")):
        digest = b64encode(sha256(sheet.of(name).encode()).digest()).decode()
        assert f"{source} 'sha256-{digest}'" in unescape(policy)
    assert policy.startswith("default-src 'none'; img-src data:;")
    assert "unsafe" not in policy


def test_nothing_is_fetched_from_anywhere(world: Any) -> None:
    indices = [value for _, attributes in parts(world.sheet()).tags for name, value in attributes.items()
              if name in ("src", "href", "action", "srcset", "data")]  # fmt: skip
    assert indices == ["data:,"]


def test_hostile_names_are_only_text(world: Any, hostile: Path) -> None:
    sheet, plain = parts(hostile), parts(world.sheet("plain"))
    assert [tag for tag, _ in sheet.tags] == [tag for tag, _ in plain.tags]
    assert {*sheet.of("sheet")}.isdisjoint("<>&")  # a browser ends scripts in more ways than a parser knows
    shown = {name for names in json.loads(sheet.of("sheet"))["items"] for name in names}
    assert {"<!--<script> 2", "{{code}} &lt;b&gt; ' \" \\u003c 3"} <= shown
    assert not any(set(name) & set("\u202e\x07\n") for name in shown)


def test_the_key_of_another_sheet_is_not_lost(world: Any) -> None:
    sheet = world.sheet()
    before = sheet.read_bytes()
    with pytest.raises(ReportError, match=r"sheet\.key\.json is the key of another sheet.* --out"):
        world.sheet(seed=7)
    assert sheet.read_bytes() == before
    assert world.sheet().read_bytes() == before


def test_a_broken_picture_leaves_no_half_sheet(make_shot_world: Any, shot: Any) -> None:
    world = make_shot_world({"whole": shot(1, (2,), 3, 4), "cut off": shot(5, (6,), 7, 8, "pgm")})
    with pytest.raises(ImageError, match=r"Image n\d+/1\.pgm .* is truncated or broken"):
        world.sheet()
    assert [path.name for path in world.out.iterdir()] == ["sheet.key.json"]

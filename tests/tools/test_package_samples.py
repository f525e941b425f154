import csv
import io
import json
from hashlib import sha256
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from packaged_samples.pictures import main, on_white, packaged_bytes
from PIL import Image

HEAD = "file,label,labels,subset,title,author,licence,source_url,source_package,source_path,sha256\n"
ROW = "{file},{label},{label},{subset},Title,Author,CC0-1.0,,package,path,{sum}\n"


def encoded(image: Image.Image, **options: object) -> bytes:
    buffer = io.BytesIO()
    image.save(buffer, **options)
    return buffer.getvalue()


@pytest.fixture(scope="module")
def cutout() -> Image.Image:
    pixels = np.random.default_rng(0).integers(0, 256, (20, 30, 4), dtype=np.uint8)
    pixels[:5, :, 3], pixels[15:, :, 3] = 0, 255
    return Image.fromarray(pixels)


@pytest.fixture
def source(tmp_path: Path, cutout: Image.Image) -> Path:
    folder = tmp_path / "source"
    pictures = {
        "one/cut.webp": encoded(cutout, format="WEBP", lossless=True, exact=True),
        "two/photo.webp": encoded(cutout.convert("RGB"), format="WEBP", quality=90),
    }
    rows = [ROW.format(file=f, label=i, subset="exact", sum="-") for i, f in enumerate(pictures)]
    for name, data in pictures.items():
        (folder / name).parent.mkdir(parents=True)
        (folder / name).write_bytes(data)
        (folder / name).with_name("LICENSE-NOTES.txt").write_text("See ../manifest.csv.", encoding="utf-8")
    (folder / "manifest.csv").write_text(HEAD + "".join(rows), encoding="utf-8")
    (folder / "NOTES.md").write_text("- `one/cut.webp`: noise\n", encoding="utf-8")
    return folder


@pytest.fixture
def target(source: Path, tmp_path: Path) -> Path:
    main([str(source), str(tmp_path / "target")])
    return tmp_path / "target"


def test_the_packaged_pixels_are_the_cutout_over_white(cutout: Image.Image) -> None:
    found = np.asarray(on_white(cutout), dtype=float)
    pixels = np.asarray(cutout, dtype=float)
    alpha = pixels[..., 3:] / 255
    expected = pixels[..., :3] * alpha + 255 * (1 - alpha)
    assert found.shape == (34, 34, 3)
    assert np.abs(found[7:27, 2:32] - expected).max() <= 1
    assert (found[:7] == 255).all()


@given(st.integers(1, 200), st.integers(1, 200))
def test_the_long_side_takes_nine_tenths_and_the_cutout_is_centred(width: int, height: int) -> None:
    found = on_white(Image.new("RGBA", (width, height), "black"))
    left, top, right, bottom = Image.eval(found.convert("L"), lambda value: 255 - value).getbbox()
    assert (right - left, bottom - top) == (width, height)
    assert found.width == found.height == -(-max(width, height) * 10 // 9)
    assert abs(left - (found.width - right)) <= 1
    assert abs(top - (found.height - bottom)) <= 1


def test_a_picture_with_alpha_is_saved_without_loss(cutout: Image.Image) -> None:
    data = packaged_bytes(encoded(cutout, format="PNG"))
    assert np.array_equal(np.asarray(Image.open(io.BytesIO(data))), np.asarray(on_white(cutout)))


def test_a_palette_with_transparency_is_a_cutout_too() -> None:
    image = Image.new("P", (9, 9))
    data = packaged_bytes(encoded(image, format="PNG", transparency=0))
    assert np.asarray(Image.open(io.BytesIO(data)).convert("RGB")).min() == 255


@pytest.mark.parametrize("kind", ["JPEG", "PNG", "WEBP"])
def test_other_pictures_stay_as_they_are(cutout: Image.Image, kind: str) -> None:
    data = encoded(cutout.convert("RGB"), format=kind)
    assert packaged_bytes(data) == data


def test_every_folder_stands_alone(source: Path, target: Path) -> None:
    [line] = csv.DictReader((target / "one" / "manifest.csv").read_text(encoding="utf-8").splitlines())
    data = (target / "one" / "cut.webp").read_bytes()
    assert (line["file"], line["sha256"], line["remark"]) == ("cut.webp", sha256(data).hexdigest(), "noise")
    assert line["source_sha256"] == sha256((source / "one" / "cut.webp").read_bytes()).hexdigest()
    assert (target / "one" / "LICENSE-NOTES.txt").read_text(encoding="utf-8").startswith("See manifest.csv.\n\nChanges")


def test_the_counts_are_those_of_the_folders(target: Path) -> None:
    assert json.loads((target / "counts.json").read_text()) == {"one": {"exact": 1}, "two": {"exact": 1}}


def test_packaging_again_gives_the_same_bytes(source: Path, target: Path) -> None:
    first = {path: path.read_bytes() for path in target.rglob("*") if path.is_file()}
    main([str(source), str(target)])
    assert {path: path.read_bytes() for path in target.rglob("*") if path.is_file()} == first

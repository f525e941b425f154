import tomllib
from pathlib import Path

import pytest
from packaged_samples.notices import lines, notices, spdx

from eyechart.data.readers.imagenet_sample import packaged_root

ROOT = Path(__file__).parents[2]
OURS = "Apache-2.0"


@pytest.fixture(scope="module")
def project() -> dict[str, str]:
    return tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]


@pytest.fixture
def everything() -> None:
    if not (packaged_root() / "tuxpaint").is_dir():
        pytest.skip("the folder under the GPL was left out of this build")


def test_the_licence_expression_names_every_licence_of_the_pictures(project: dict[str, str]) -> None:
    found = {spdx(line["licence"]) for line in lines()}
    assert found | {OURS} == {*project["license"].split(" AND ")}


def test_the_licence_expression_is_valid_spdx(project: dict[str, str]) -> None:
    from packaging import licenses

    assert licenses.canonicalize_license_expression(project["license"]) == project["license"]


@pytest.mark.parametrize("column", ["author", "licence", "title", "source_package", "source_path", "sha256"])
def test_every_picture_says_whose_it_is_and_where_from(column: str) -> None:
    assert all(line[column] for line in lines())


def test_a_credit_under_creative_commons_links_its_source_or_names_the_package() -> None:
    named = [line for line in lines() if line["licence"].startswith("CC-BY")]
    assert all(line["source_url"].startswith("http") or "Debian" in line["source_package"] for line in named)


def test_gpl_pictures_lie_in_a_folder_of_their_own_beside_their_licence() -> None:
    folders = {Path(line["file"]).parent for line in lines() if line["licence"].startswith("GPL")}
    assert folders <= {Path("imagenet/tuxpaint"), Path("realbirdid/sample/tuxpaint"), Path("toybox/cutouts")}
    assert all((packaged_root().parent / folder / "LICENSE-GPL-2.0.txt").is_file() for folder in folders)


@pytest.mark.usefixtures("everything")
def test_the_third_party_notices_are_those_of_the_manifests() -> None:
    assert notices([*lines()]) in (ROOT / "THIRD_PARTY.md").read_text(encoding="utf-8")


def test_the_licence_files_are_there(project: dict[str, list[str]]) -> None:
    assert all([*ROOT.glob(pattern)] for pattern in project["license-files"])
    assert "Apache License" in (ROOT / "LICENSE").read_text(encoding="utf-8")


def test_notices_escape_what_would_break_a_table() -> None:
    line = {"file": "a/b.webp", "licence": "CC-BY-4.0", "author": "x|y", "title": "t", "source_url": "http://u"}
    assert notices([line]).count("x\\|y") == 2

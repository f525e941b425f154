"""The commands of birds: an export and its pictures become a split, and leaked ones are found in another collection."""

import csv
from pathlib import Path

import pytest

from eyechart.cli import main
from eyechart.data.splits.open_split import list_splits, open_split
from eyechart.realbirdid.data.registered import open_realbirdid, packaged_root

HEAD = (
    *("id", "quality_grade", "url", "image_url", "latitude", "longitude", "scientific_name", "common_name", "taxon_id"),
    *("taxon_order_name", "taxon_family_name", "taxon_genus_name", "taxon_species_name"),
)
FEW = 12
FIRST, PHOTO = 7_000_000, 9_000_000


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Packaged photographs as an export with its pictures and reasons."""
    (tmp_path / "pictures").mkdir()
    rows, reasons = [], ["observation_id,reason"]
    taxa = {line["species"]: line for line in read(packaged_root() / "sample/taxonomy.csv")}
    genera = {line["genus"]: line for line in taxa.values()}
    birds = read(packaged_root() / "sample/birds.csv")
    named = [bird for bird in birds if bird["species"]][:FEW]
    doubtful = [bird for bird in birds if not bird["species"]][:2]
    for number, bird in enumerate([*named, *doubtful]):
        taxon = taxa.get(bird["species"], genera[bird["genus"]])
        rows.append(exported(number, bird, taxon))
        suffix = Path(bird["image"]).suffix
        picture = (packaged_root() / "sample" / bird["image"]).read_bytes()
        (tmp_path / f"pictures/{PHOTO + number}{suffix}").write_bytes(picture)
        reasons += [f"{FIRST + number},{bird['reason']}"] * (not bird["species"])
    (tmp_path / "reasons.csv").write_text("\n".join(reasons), encoding="utf-8")
    with (tmp_path / "export.csv").open("w", encoding="utf-8", newline="") as file:
        writer = csv.writer(file)
        writer.writerows([HEAD, *rows])
    return tmp_path


def read(path: Path) -> list[dict[str, str]]:
    with path.open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def exported(number: int, bird: dict[str, str], taxon: dict[str, str]) -> tuple[object, ...]:
    told = bird["species"]
    return (
        *(FIRST + number, "research" if told else "needs_id"),
        f"https://www.inaturalist.org/observations/{FIRST + number}",
        f"https://inaturalist-open-data.s3.amazonaws.com/photos/{PHOTO + number}/medium.webp",
        *(bird["latitude"], bird["longitude"], told or bird["genus"], taxon["common_name"] if told else "", number),
        *(taxon["order"], taxon["family"], bird["genus"], told),
    )


@pytest.fixture
def imported(root: Path) -> Path:
    out = root / "data/realbirdid/mine"
    files = ["--reasons", str(root / "reasons.csv"), "--taxonomy", str(packaged_root() / "sample/taxonomy.csv")]
    assert (
        main(["birds", "import", str(root / "export.csv"), "--images", str(root / "pictures"), *files, str(out)]) == 0
    )
    return out


def test_what_came_of_an_export_is_said(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    given = ["birds", "import", str(root / "export.csv"), "--images", str(root / "pictures"), str(root / "out")]
    assert main(given) == 0
    first, *left = capsys.readouterr().out.splitlines()
    assert f"{FEW} pictures of {FEW} observations, {FEW} answerable and 0 unanswerable" in first
    assert left == [
        "2 observations were left out (left_out.csv lists them):",
        "  2  a genus, and no line of the reasons is about it",
    ]


def test_an_export_becomes_a_split(imported: Path) -> None:
    (ref,) = [ref for ref in list_splits(imported.parents[1]) if str(ref) == "realbirdid/mine"]
    found, packaged = open_split(ref), open_realbirdid("sample")
    assert found.names == packaged.names
    assert {row.sha256 for row in found.index} <= {row.sha256 for row in packaged.index}
    labels = {row.sha256: row.label for row in packaged.index}
    assert all(row.label == labels[row.sha256] for row in found.index)


def test_leaked_birds_are_counted_and_listed(imported: Path, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    urls = [f"http://static.inaturalist.org/photos/{PHOTO + number}/original.jpg?1" for number in (0, 1, 99)]
    urls += [f"https://www.gbif.org/occurrence/{number}" for number in range(50)]
    urls += [f"https://www.inaturalist.org/observations/{FIRST + FEW}"]
    (root / "trained.csv").write_text(
        "\n".join(["uuid,source_url", *(f"u,{url}" for url in urls), ""]), encoding="utf-8"
    )
    assert main(["birds", "overlap", str(imported), str(root / "trained.csv"), "--out", str(root / "list.csv")]) == 0
    lines = [line.split() for line in capsys.readouterr().out.splitlines()]
    found = [" ".join(line[:5]) for line in lines if line and line[0] in ("answerable", "unanswerable", "all")]
    assert found == ["answerable 12 0 2 2", "unanswerable 2 1 0 1", "all 14 1 2 3"]
    assert [line["observation_id"] for line in read(root / "list.csv")] == [str(FIRST + n) for n in (0, 1, FEW)]


@pytest.mark.parametrize("command", ["import", "overlap"])
def test_a_refusal_is_a_sentence_and_status_2(command: str, tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    more = ["--images", str(tmp_path)] if command == "import" else []
    assert main(["birds", command, str(tmp_path / "none.csv"), *more, str(tmp_path / "out.csv")]) == 2
    printed = capsys.readouterr()
    assert printed.out == ""
    assert "none.csv cannot be read" in printed.err
    assert "Traceback" not in printed.err


def test_a_list_that_cannot_be_written(imported: Path, root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    other = root / "trained.txt"
    other.write_text("https://www.inaturalist.org/photos/1\n", encoding="utf-8")
    assert main(["birds", "overlap", str(imported), str(other), "--out", str(root / "none/list.csv")]) == 2
    assert "list.csv cannot be used (No such file or directory)" in capsys.readouterr().err

"""Table 5 and Figure 3 of RealBirdID: which genera the images are of."""

import pytest

from eyechart.errors import ReportError

# Table 5 of arXiv 2603.27033: genus, count, freq, cdf, species; its counts add up to 2308, not to the 3253 of Table 1.
PUBLISHED = """Crows and Ravens 291 0.1261 0.1261 53
Large White-headed Gulls 198 0.0858 0.2119 25
Kingbirds 179 0.0776 0.2894 13
Empidonax Flycatchers 132 0.0572 0.3466 14
Mallards, Pintails, and Allies 125 0.0542 0.4008 33
Dryobates Woodpeckers 116 0.0503 0.4510 26
Rufous, Allen's, and Allied Hummingbirds 53 0.0230 0.4740 9
Buteos 52 0.0225 0.4965 27
Dowitchers 47 0.0204 0.5169 3
Calidris Sandpipers 39 0.0169 0.5338 24
Scaups, Pochards, and Allies 39 0.0169 0.5507 12
True Swans 37 0.0160 0.5667 9
Leaf Warblers 35 0.0152 0.5819 77
Yellow-breasted Meadowlarks 32 0.0139 0.5958 3"""
ROWS = [line.rsplit(" ", 4) for line in PUBLISHED.splitlines()]
TOTAL = 2308


def genus(name, count, species=1, answerable=0):
    """A row of the artifact."""
    counts = {"answerable": answerable, "unanswerable": count, "image quality": count}
    return {"genus": name, "species": species, **counts, "angle/occlusion": 0, "vocalization": 0}


@pytest.fixture
def published(flock):
    """The published genera, the rest of the images one a genus."""
    rows = [genus(name, int(count), int(species)) for name, count, _, _, species in ROWS]
    rest = TOTAL - sum(row["unanswerable"] for row in rows)
    flock.case(files={"genera": [*reversed(rows), *(genus(f"zz{at:04}", 1) for at in range(rest))]})
    return flock


def test_table_5_has_the_published_columns_and_numbers(published):
    (table,) = published.tables("realbirdid-T5")
    rows = published.rows("realbirdid-T5")
    assert table.columns == ("genus", "count", "freq", "cdf", "species")
    found = [[row[name] for name in table.columns] for row in rows[: len(ROWS)]]
    assert found == ROWS
    assert (rows[-1]["cdf"], rows[-1]["cdf n"]) == ("1.0000", str(TOTAL))


SMALL = [genus("Corvus", 9, 2, 4), genus("Larus", 6, 1, 0), genus("Anas", 5, 3, 4), genus("Buteo", 0, 2, 8)]


def test_figure_3_has_both_sets_in_their_own_order(flock):
    flock.case(files={"genera": SMALL})
    rows = flock.rows("realbirdid-F3")
    assert [(row["Set"], row["genus"], row["count"]) for row in rows] == [
        *(("A", "Buteo", "8"), ("A", "Anas", "4"), ("A", "Corvus", "4")),
        *(("UA", "Corvus", "9"), ("UA", "Larus", "6"), ("UA", "Anas", "5")),
    ]
    assert [row["cdf"] for row in rows] == ["0.5000", "0.7500", "1.0000", "0.4500", "0.7500", "1.0000"]


def test_figure_3_says_how_few_genera_have_most_unanswerable_images(flock):
    flock.case(files={"genera": SMALL})
    (table,) = flock.tables("realbirdid-F3")
    assert table.notes[0].startswith("75 % of the 20 unanswerable images are of the 2 genera that have more than 5")


def test_one_genus_is_named_in_the_singular(flock):
    flock.case(files={"genera": [genus("Corvus", 9, 2, 4)]})
    (table,) = flock.tables("realbirdid-F3")
    expected = (
        "100 % of the 9 unanswerable images are of the 1 genus that has more than 5; 1 genus has any, "
        "1 has answerable ones."
    )
    assert table.notes[0] == expected


def test_a_data_set_stands_once_however_many_models_were_asked(flock):
    for protocol in ("species", "abstention", "free_form"):
        flock.case(protocol, files={"genera": SMALL})
    flock.case(split="other", files={"genera": SMALL[:1]})
    assert [table.context["split"] for table in flock.tables("realbirdid-T5")] == ["realbirdid/other", "realbirdid/val"]


@pytest.mark.parametrize("name", ["realbirdid-T5", "realbirdid-F3"])
def test_without_genera_the_remedy_is_named(bench, name):
    bench.case("detection", "hf[a]")
    with pytest.raises(ReportError, match=r"these runs have detection\. Make it with: pytest -k realbirdid"):
        bench.tables(name)


def test_a_csv_of_something_else_is_refused(flock):
    flock.case(files={"genera": [{"genus": "Corvus"}]})
    with pytest.raises(ReportError, match=r"has no column species, .*; its columns are genus\. Run the case again"):
        flock.tables("realbirdid-T5")


@pytest.mark.parametrize("count", ["many", ""])
def test_a_count_that_is_no_number_is_refused(flock, count):
    flock.case(files={"genera": [genus("Corvus", count)]})
    with pytest.raises(ReportError, match=r"The column unanswerable of realbirdid/val/a cannot be read as numbers"):
        flock.tables("realbirdid-T5")

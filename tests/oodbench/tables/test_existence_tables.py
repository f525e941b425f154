"""Tables 1, 10 to 13 and 18 of OODBench: what models say of pairs in and out of distribution."""

import pytest
from msgspec import structs

from eyechart.errors import ReportError
from eyechart.oodbench.tables.existence_tables import _find_architecture
from eyechart.reports.runs import load
from eyechart.reports.tables.registry import tables
from eyechart.reports.tables.render import RENDERERS
from eyechart.results.records import SubsetTiming
from tests.oodbench.tables.existence_answers import COCO, POOR, ask_two_models


@pytest.fixture(scope="module")
def asked(module_existing):
    """These answers, which tests share."""
    return ask_two_models(module_existing)


@pytest.fixture(scope="module")
def rows(asked):
    """Their table 1."""
    return asked.rows("oodbench-T1")


def test_table_1_has_a_random_chance_then_every_set_of_every_model_and_of_reasoning(rows):
    assert [rows[0][name] for name in ("Model", "Accuracy", "Recall", "MCC")] == [
        "Random Chance",
        "50.00",
        "50.00",
        "0.00",
    ]
    sets = ["ID", "OOD-S", "OOD-H"]
    assert [row["Data Type"] for row in rows[1:]] == [*sets, *sets, *(f"{name}^CoT" for name in sets)]
    assert [row["Model"] for row in rows[1:]] == ["hf[a]"] * 3 + ["hf[b]"] * 6


def test_table_1_pools_data_sets_by_their_answers(rows):
    row = rows[1]
    assert (row["data"], row["Num"]) == ("COCO + LVIS", "28")
    measured = [row[name] for name in ("Accuracy", "F1", "Precision", "Recall", "MCC")]
    assert measured == ["92.86", "92.31", "100.00", "85.71", "86.60"]  # 12 of 14 yes, 14 of 14 no
    assert float(row["Accuracy low"]) < 92.86 < float(row["Accuracy high"])
    assert (row["Yes"], row["Unparsed"]) == ("42.86", "0.00")


def test_unread_answers_are_wrong_and_pairs_with_errors_count_nowhere(rows):
    found = {(row["Model"], row["Data Type"]): row for row in rows}
    simple, reasoned = found["hf[a]", "OOD-S"], found["hf[b]", "ID^CoT"]
    assert (simple["Num"], simple["Accuracy"], simple["Unparsed"]) == ("32", "31.25", "12.50")  # 6 and 4 of 32
    assert (reasoned["Num"], reasoned["Accuracy"]) == ("26", "100.00")


def test_what_was_pooled_is_said(asked):
    (table,) = asked.tables("oodbench-T1")
    said = "\n".join(table.notes)
    assert "The answers of COCO + LVIS are pooled" in said
    assert "COCO: oodbench/coco, 9 images, fingerprint ffffffffffff; pairs ID 10, OOD-S 10, OOD-H 4" in said
    assert "Set^CoT: " in said


def test_the_tables_of_a_data_set_have_the_initial_benchmark_and_the_time(existing):
    took = {
        "ID": SubsetTiming(answers=20, fresh=20, seconds=3725.4),
        "OOD-S": SubsetTiming(answers=24, fresh=24, seconds=61.0),
    }
    existing("hf[a]", "coco", {**COCO, "OOD-S'": POOR * 2}, took, division_scope="initial")
    rows = {row["Data Type"]: row for row in existing.bench.rows("oodbench-T10")[1:]}
    assert [(name, row["Num"], row["Time"]) for name, row in rows.items()] == [
        ("ID", "20", "01:02:05"),
        ("OOD-S", "20", ""),
        ("OOD-H", "8", ""),
        ("OOD-S'", "24", "00:01:01"),
        ("OOD-H'", "8", ""),
    ]


def test_answers_that_were_given_elsewhere_have_no_time(existing):
    existing("replay[path=a.csv]", "coco", COCO, {"ID": SubsetTiming(answers=20, fresh=0, seconds=0.0)})
    (record,) = existing.bench.records
    assert {row["Time"] for row in existing.bench.rows("oodbench-T10")} == {"", "kept"}
    existing.bench.records = [structs.replace(record, model=structs.replace(record.model, backend="replay"))]
    assert {row["Time"] for row in existing.bench.rows("oodbench-T10")} == {""}


@pytest.mark.parametrize(
    ("name", "source"), [("T10", "coco"), ("T11", "lvis"), ("T12", "nuscenes"), ("T13", "cityscapes")]
)
def test_every_data_set_has_its_table(existing, name, source):
    existing("hf[a]", source, COCO)
    assert len(existing.bench.rows(f"oodbench-{name}")) == 4
    others = {"T10", "T11", "T12", "T13"} - {name}
    for other in others:
        with pytest.raises(ReportError, match=r'these runs have existence.* -k "oodbench and existence"'):
            existing.bench.rows(f"oodbench-{other}")


def test_table_18_has_a_section_a_data_set_and_sets_out_of_distribution_alone(asked):
    (table,) = asked.tables("oodbench-T18")
    assert [row[0] for row in table.rows if row[1] == ""] == ["COCO", "LVIS"]
    rows = asked.rows("oodbench-T18")
    assert {row["Data"] for row in rows[1:]} == {"COCO", "LVIS"}
    assert {row["Data Type"] for row in rows[1:]} == {"OOD-S", "OOD-H"}
    assert len(rows) == 1 + 2 * 2 * 2


def test_table_18_wants_two_models(existing):
    existing("hf[a]", "coco", COCO)
    with pytest.raises(ReportError, match="--eye-model=A --eye-model=B"):
        existing.bench.rows("oodbench-T18")


def test_the_same_runs_give_the_same_bytes(asked):
    names = ("oodbench-T1", "oodbench-T10", "oodbench-T18")
    asked.pool()  # writes the run, if no test before did
    once, again = ([tables(name, load([asked.folder]), None) for name in names] for _ in range(2))
    for kind in ("md", "tex", "csv"):
        assert [*map(RENDERERS[kind], once)] == [*map(RENDERERS[kind], again)]


def test_runs_without_existence_are_refused_with_the_remedy(session):
    made = session()
    made.closed_world(made.right())
    with pytest.raises(ReportError, match=r'closed_world under .*\. Make it with: pytest -k "oodbench and existence"'):
        made.rows("oodbench-T1")


def test_files_that_are_no_answers_are_refused(bench):
    bench.case("existence", rows=[{"pair": 1, "key": "x"}])
    with pytest.raises(ReportError, match=r"has no column category, .*question.*; its columns are pair, key\. Run"):
        bench.rows("oodbench-T1")


def test_table_1_names_the_parts_of_published_models(existing):
    models = {"vllm[Qwen/Qwen2-VL-7B-Instruct]": "Qwen2-7B", "openai[gpt-4o-2024-08-06]": "GPT-4", "hf[mine]": "-"}
    for model in models:
        existing(model, "coco", COCO)
    for name in ("oodbench-T1", "oodbench-T10"):
        rows = existing.bench.rows(name)
        assert (rows[0]["Image Encoder"], rows[0]["Language Model"]) == ("-", "-")
        found = {row["Model"]: (row["Image Encoder"], row["Language Model"]) for row in rows[1:]}
        assert {model: parts[1] for model, parts in found.items()} == models
        assert found["vllm[Qwen/Qwen2-VL-7B-Instruct]"][0] == "CLIP-L-14"


@pytest.mark.parametrize(
    ("name", "encoder"),
    [
        ("OpenGVLab/InternVL2-8B", "InternViT-300M-448px"),
        ("OpenGVLab/InternVL2_5-8B", "InternViT-300M-448px-V2.5"),
        ("OpenGVLab/InternVL3_5-38B", "InternViT 6B"),
        ("llava-hf/llama3-llava-next-8b-hf", "CLIP-L-14"),
        ("meta-llama/Llama-3.2-11B-Vision-Instruct", "ViT-H-14"),
        ("google/paligemma2-28b-mix-448", "SigLIP so400M"),
        ("llava-hf/llava-onevision-qwen2-72b-ov-chat-hf", "SigLIP so400M"),
        ("Qwen/Qwen2.5-VL-72B-Instruct", "-"),
    ],
)
def test_checkpoints_are_known_by_their_names(name, encoder):
    assert _find_architecture(f"hf[{name}]")[0] == encoder

"""tools/mutate.py changes a module in every way it says, and finds the tests of a module and what none noticed."""

import json
import sys
from importlib import import_module
from pathlib import Path

import pytest

pytestmark = pytest.mark.deep

SCRIPT = Path(__file__).parents[2] / "tools/mutate.py"


@pytest.fixture(scope="module")
def mutate():
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(SCRIPT.parent)
        yield import_module("mutate")
    for name in ("mutate", "mutants"):
        del sys.modules[name]


@pytest.mark.parametrize(
    ("line", "changed"),
    [
        ("a < b", ["a <= b", "a >= b"]),
        ("a - b", ["a + b"]),
        ("a and b", ["a", "a or b", "b"]),
        ("not a", ["a"]),
        ("3", ["2", "4"]),
        ("0.5", ["0.25", "1.0"]),
        ("True", ["False"]),
        ("any(a)", ["all(a)"]),
        ("f(a, strict=b, k=c)", ["f(a, strict=b)"]),
        ("f(a, strict=True, k=True)", ["f(a, strict=True)", "f(a, strict=True, k=False)"]),
        ("a if b else c", ["c if b else a"]),
        ("a[b:c]", ["a[:c]", "a[b:]"]),
        ("[a for a in b if c]", ["[a for a in b]"]),
        ("f'{a + 1}'", []),
    ],
)
def test_an_expression_is_mutated_by_each_operator(mutate, line, changed) -> None:
    found = [each.source.strip() for each in mutate.mutants(f"x = {line}", Path("m.py"))]
    assert sorted(found) == sorted(f"x = {each}" for each in changed)


def test_statements_and_conditions_are_mutated_and_annotations_are_not(mutate) -> None:
    source = (
        'def f(a: "int | None" = None) -> "a + b":\n    """Text."""\n    if a:\n        g()\n    a[b] = c\n    return a'
    )
    found = [each.change.split("\n+")[-1].strip() for each in mutate.mutants(source, Path("m.py"))]
    assert found == ["if not a:", "pass", "pass", "return None"]


def test_the_tests_of_a_module_are_the_nearest_first(mutate) -> None:
    root = SCRIPT.parents[1]
    near = [str(path) for path in mutate.find_tests(Path("src/eyechart/statistics/accuracy.py"), root, False)]
    assert near[0] == "tests/statistics/test_accuracy.py"
    others = ("tests/statistics/test_statistics_against_others.py", "tests/statistics/test_statistics_contract.py")
    assert {*others} <= {*near}
    messages = [
        path.name for path in mutate.find_tests(Path("src/eyechart/gate/verdicts/verdict_messages.py"), root, False)
    ]
    assert messages[0] == "test_verdict_messages.py"
    assert {"test_compare_metrics.py", "test_decide.py", "test_page_link.py"} <= {*messages}
    assert "test_evidence.py" not in messages


def test_files_that_run_sessions_are_left_aside(mutate) -> None:
    root = SCRIPT.parents[1]
    assert (root / "tests/gate/slices/test_slice_messages.py").exists()
    found = mutate.find_tests(Path("src/eyechart/gate/slices/slice_messages.py"), root, False)
    assert "tests/gate/slices/test_slice_tests.py" in map(str, found)
    assert "tests/gate/slices/test_slice_messages.py" not in map(str, found)


def test_a_survivor_is_sought_where_its_line_may_have_moved(mutate, tmp_path) -> None:
    source = "def f(a):\n    return a\n\ndef g(a):\n    return a\n"
    found = mutate.mutants(source, Path("m.py"))
    rows = [vars(each) | {"path": "m.py", "outcome": "survived"} for each in found]
    for line, expected in ((2, [2]), (3, [2]), (6, [5])):
        (tmp_path / "report").write_text(json.dumps(rows[0] | {"line": line}))
        assert [each.line for each in mutate.read_survivors(tmp_path / "report", found)] == expected
    later = [rows[0], rows[1], rows[0] | {"outcome": "tests failed"}, rows[1] | {"change": "gone"}]
    (tmp_path / "report").write_text("\n".join(map(json.dumps, later)))
    assert [each.line for each in mutate.read_survivors(tmp_path / "report", found)] == [5]


def test_quick_leaves_long_tests_out_and_the_shortest_run_first(mutate) -> None:
    class Item:
        def __init__(self, nodeid: str) -> None:
            self.nodeid = nodeid

    known = {"a": 9.0, "b": 1.0, "c": 0.5}
    for longest, expected in ((2, ["d", "c", "b"]), (10, ["d", "c", "b", "a"])):
        items = [Item(name) for name in "abcd"]
        mutate.Plugin(known, longest).pytest_collection_modifyitems(items)
        assert [item.nodeid for item in items] == expected

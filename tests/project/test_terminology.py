"""Names of the product: standard terms instead of private ones, for functions, classes, attributes and modules."""

import ast
import re
from collections.abc import Iterator
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
FOLDERS = ("src/eyechart", "action", "benchmarks", "fixtures", "plugins", "tools", "examples")
WORDS = {"asked", "each", "found", "given", "heard", "made", "one", "put", "said", "seen", "told", "who"}  # say nothing
TERMS = {  # the name that is refused → the term to use
    # the core
    "Asker": "Runner",
    "Sitting": "Context",
    "Chosen": "OptionValues",
    "CHOICES": "options",
    "Kind": "Protocol",
    "offers": "capabilities",
    "variants": "expand_grid",
    "settled": "normalise",
    "possible": "is_valid",
    "differing": "non_default_id",
    "Notes": "TextPredictions",
    "Spoken": "TextPredictions",
    "Told": "ParsedAnswer, or what it holds",
    "listen": "ask_and_parse",
    "placed": "to_class",
    "mapped": "map_to_classes",
    "nobody": "no_model",
    "nowhere": "no_split",
    "lend": "get_model",
    "dismiss": "release_model",
    "fetch": "open_split",
    "Zoo": "ModelPool",
    "let_go": "close",
    "fresh_loads": "new_weight_loads",
    "truths": "label_sets, or targets",
    "Truth": "ScoredLabels",
    # inference
    "answering": "image_runner",
    "interviewing": "request_runner",
    "interview": "run_requests",
    "consult": "run_shared",
    "Book": "SharedRequests",
    "looked_up": "read_cached",
    "straighten": "compact",
    "tidy": "compact",
    "meet": "charge_budget",
    "met": "on_cached_usage",
    "unfinished": "partial_result",
    "one_each": "check_one_per_request",
    "Question": "RequestTemplate",
    "Questions": "RequestBatch",
    "Reply": "Response",
    "Replies": "Responses",
    "Answers": "CachedArray",
    "Halving": "OOMBackoff",
    "Served": "Usage",
    "Asked": "SubsetTiming",
    # scores and records
    "Scored": "ScoreResult",
    "Rules": "LabelPolicy",
    "Repeated": "EpochPredictions",
    "CaseRecording": "CaseResult",
    "FoundRecording": "CaseResult",
    "Varied": "CaseResult",
    "OfBirds": "CaseResult",
    "Proof": "MetricEvidence",
    "planes": "bitmaps",
    "units": "n_clusters",
    "defined": "estimate",
    "harmonic": "harmonic_mean_estimate",
    "draws": "bootstrap_samples",
    "sure": "confidence",
    "stairs": "threshold_steps",
    "observed": "observations",
    "notation": "annotation",
    "divided": "split_pairs",
    "fallen": "degradation",
    # OODBench and RealBirdID
    "Detected": "DetectorOutput",
    "judged": "flag_failures, or decide",
    "Made": "DivisionResult",
    "divide": "build_division",
    "dividing": "division",
    "mined": "hard_samples",
    "bird_questions": "prompts",
    "word_scoring": "free_form",
    "reason_words": "abstention_reasons",
    "Views": "RangeView",
    "View": "RangeView",
    "twins": "exact_duplicates",
    "sieve": "exclusions",
    "located": "file_index",
    "corpora": "annotated_dataset",
    # the gate
    "comparing": "compare",
    "Compared": "MetricComparison",
    "word": "decision",
    "telling": "messages",
    "Sight": "PageLink",
    "looking": "page_link",
    "alone": "minimum_detectable_effect",
    "undecided": "without_direction",
    "DIRECTIONS": "Estimate.higher_is_better",
    # reports
    "Entry": "CaseRun",
    "Group": "ComparableCases",
    "Pool": "Runs",
    "worded": "prompt_settings",
    "wording": "prompt_settings",
    "told_apart": "disambiguate_titles",
    "task": "protocol",
    "tasks": "protocols",
    "task_name": "protocol_name",
    "task_names": "protocol_names",
    "unread": "unparsed",
    "oddity": "non_default_count",
    "Standing": "Row",
    "Number": "Estimate",
    "Chance": "PValueFormat",
    "Shown": "TableCases",
    "lying": "transpose",
    "spots": "column_keys",
    "Wish": "Options",
    "chosen": "best_variant",
    "proven": "evidence_io",
    "albums": "pages",
    "exhibits": "cards",
    "shelving": "index",
    # the plugin
    "briefing": "github_summary",
    "endings": "exit_codes",
    "judged_reports": "reports of cases",
    "one_benchmark": "pytest_benchmark_compat",
    "wiring": "fixtures",
    "eye_ask": "eye_runner",
    "eye_truths": "eye_label_sets",
    "accuracy_coverage_auc": "the name of the metric: one name for one quantity",
    # options
    "called": "species_names",
    "about": "abstention_images",
    "wordings": "prompt_set",
    "reading": "parser",
    "structure": "structured_output",
    "evaluations": "epochs",
    "repeats": "epochs",
    "absent": "absent_categories",
}


# One word for one concept, in messages, tables, the page and the documentation.
TEXTS = (
    "src/eyechart",
    "benchmarks",
    "fixtures",
    "plugins",
    "reports",
    "examples",
    "web/src",
    "docs",
    "README.md",
    "CHANGELOG.md",
)
SYNONYMS = {
    "an answer is unparsed": re.compile(
        r"\bunread\b|answer not readable|answers?( that)? could not be (read|understood)"
    ),
    "a table has a column Protocol": re.compile(r"""["']Task["']|\bcolumn Task\b"""),
}


def names(tree: ast.AST) -> Iterator[tuple[str, int, bool]]:
    """Yield every name that a module defines, with its line, and whether others can read it.

    Others can read functions, classes and annotated attributes; parameters and variables are the function's own.
    """
    for node in ast.walk(tree):
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            yield node.name, node.lineno, True
        elif isinstance(node, ast.AnnAssign) and isinstance(node.target, ast.Name):
            yield node.target.id, node.lineno, True
        elif isinstance(node, ast.arg):
            yield node.arg, node.lineno, False
        elif isinstance(node, ast.Name) and isinstance(node.ctx, ast.Store):
            yield node.id, node.lineno, False


def refusals(path: Path) -> Iterator[str]:
    """Yield a sentence for every refused name of a module."""
    if path.stem in TERMS:
        yield f"the module is named {path.stem}. Use {TERMS[path.stem]}, or another standard term."
    for name, line, public in names(ast.parse(path.read_text(encoding="utf-8"))):
        if public and name in TERMS:
            yield f"line {line}: {name}. Use {TERMS[name]}, or another standard term."
        if name in WORDS:
            yield f"line {line}: {name}. Name the value for what it holds."


@pytest.mark.parametrize("folder", FOLDERS)
def test_names_are_standard_terms(folder: str) -> None:
    paths = sorted((ROOT / folder).rglob("*.py"))
    assert paths
    refused = [f"{path.relative_to(ROOT)}, {sentence}" for path in paths for sentence in refusals(path)]
    assert not refused, "\n".join(refused)


def test_refused_names_are_found(tmp_path: Path) -> None:
    module = tmp_path / "telling.py"
    module.write_text("def heard(said, n):\n    for each in said:\n        wording: int = each\n", encoding="utf-8")
    refused = [sentence.split(". ")[0] for sentence in refusals(module)]
    assert refused[0] == "the module is named telling"
    assert sorted(refused[1:]) == ["line 1: heard", "line 1: said", "line 2: each", "line 3: wording"]


@pytest.mark.parametrize("rule", SYNONYMS)
def test_one_concept_has_one_word(rule: str) -> None:
    files = [path for name in TEXTS for path in ((ROOT / name).rglob("*") if (ROOT / name).is_dir() else [ROOT / name])]
    texts = [path for path in files if path.suffix in (".py", ".ts", ".tsx", ".css", ".md", ".toml")]
    assert len(texts) > 400
    found = [
        f"{path.relative_to(ROOT)}, line {number}: {line.strip()}"
        for path in texts
        for number, line in enumerate(path.read_text(encoding="utf-8").splitlines(), 1)
        if SYNONYMS[rule].search(line)
    ]
    assert not found, f"{rule}:\n" + "\n".join(found)


def test_options_are_standard_terms() -> None:
    """No declared option of a protocol has a refused name."""
    from eyechart.protocol.registry import get_protocol, protocol_targets

    declared = {option.name for name in protocol_targets() for option in get_protocol(name).options}
    assert declared
    assert not declared & {*TERMS}

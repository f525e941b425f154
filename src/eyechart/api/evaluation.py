"""`evaluate`: run protocols on a model and a data set from Python, with the store, metrics and records of pytest."""

import dataclasses
import sys
import time
import warnings
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Unpack

from msgspec.structs import replace
from tqdm import tqdm

from eyechart.api.run_settings import RunSettings, check_argument, check_whole_number, complete_settings
from eyechart.api.run_tables import EvaluationRun
from eyechart.data.dataset.blanks import parse_blank
from eyechart.data.dataset.dataset import Dataset
from eyechart.data.dataset.limits import Limit, parse_limit
from eyechart.data.discovery import find_split
from eyechart.data.labels.label_files import LabelsOption
from eyechart.data.readers.in_memory import open_in_memory
from eyechart.data.splits.open_split import list_splits, open_split
from eyechart.data.splits.registry import includes_benchmark
from eyechart.errors import ModelError, SpecError, ToleranceError, UnavailableError
from eyechart.evaluation.session import Session
from eyechart.evaluation.settings import Case, Settings
from eyechart.files.folders import expand_home, run_name
from eyechart.files.path_encoding import check_locale
from eyechart.inference.runner.runner import Progress
from eyechart.messages.secret_values import hide_secrets
from eyechart.messages.suggestions import did_you_mean
from eyechart.models.in_memory.wrap import BACKEND, InMemory, wrap_model
from eyechart.models.registry import INTERFACES, capabilities, scoring_obstacle
from eyechart.models.spec import ModelSpec, parse_named_spec
from eyechart.models.types import Model
from eyechart.protocol.base import Metric, Protocol
from eyechart.protocol.registry import add_protocol, get_protocol, protocol_modules
from eyechart.results.records import PASSED, Record
from eyechart.results.run_folder import RunFolder, describe_environment, read_git_commit

KNN_HINT = (
    "For an image encoder, that is knn[ENCODER,k=11,support=BENCHMARK/SPLIT], such as "
    "knn[open_clip[toybox-clip],support=imagenet/sample-near]; an encoder in memory is one as a class in a module: "
    "knn[my_module:MyEncoder[],support=BENCHMARK/SPLIT]. "
)
PROBE_HINT = (
    "For an image encoder, that is linear_probe[ENCODER,support=BENCHMARK/SPLIT], such as "
    "linear_probe[open_clip[toybox-clip],support=imagenet/sample-near]. "
)
IN_MEMORY = "data/in-memory"  # the name of data without one


@dataclass(frozen=True)
class _Subject:
    """The model that is evaluated: its specification, its capabilities, and the object if it is in memory."""

    spec: ModelSpec
    capabilities: frozenset[str]
    in_memory: Model | None = None


@dataclass(frozen=True)
class _SelectedData:
    """The split that is evaluated, its data set unless it is found by the name, and the data root of a folder.

    `family` is the split's (`SplitRef.family`).
    """

    split: tuple[str, str]
    dataset: Dataset | None = None
    root: str | None = None
    family: str = ""


def evaluate(
    model: Any,
    data: Any,
    *,
    protocol: str | type[Protocol[Any]] | Collection[str] = (),
    metrics: Sequence[Metric[Any]] = (),
    options: Mapping[str, object] | None = None,
    name: str = "",
    identity: str = "",
    limit: Limit = None,
    seed: int = 42,
    max_errors: int = 0,
    **settings: Unpack[RunSettings],
) -> EvaluationRun:
    """Evaluate a model on a data set, and return the run with its metrics and samples.

    Answers are stored and numbers computed as by `pytest`; a second call sends only what is not stored yet, with a
    model in memory only if it has an `identity`.

    Args:
        model: A specification such as `open_clip[ViT-B-32,pretrained=openai]`, or a model in memory: `(module,
            transform)` for a classifier of torch, a model of timm, `(model, preprocess, tokenizer)` of open_clip,
            `(model, processor)` of transformers, or an object of a class of `eyechart.models.types`.
        data: The name of a split (`imagenet/sample`), a folder with a folder of images for each class, a DataFrame with
            the columns `path` and `label` (for the protocol `questions`: image, question and answer), a
            `datasets.Dataset`, or a torch data set of (image, label) with `classes`,
            or with `class_names` here.
        protocol: One or several names, or a class; by default all that suit the model and have the data's benchmark
            among theirs.
        metrics: Metrics beside those of the protocol, as functions from predictions to estimates or to a value for each
            image.
        options: Options of the protocol (`{"epochs": 3}`), of several ones as `{"multiple_choice.epochs": 3}`.
        name: The name of the model in cases.
        identity: What distinguishes a model in memory from others, such as "clip-ft-epoch3". Later calls use its stored
            answers again only if they give the same one: code and values that change answers cannot all be seen. Give
            another one whenever you change something, and one at all to continue after an interruption. A specification
            takes none.
        limit: A random sample of this many images, or of each class as in "10/class".
        seed: The seed of this sample, and of everything that is drawn.
        max_errors: The number of images per case that may end in an error.
        settings: Data, folders, and where the model answers: see `RunSettings`.

    Returns:
        The run, with its metrics and samples as frames.

    Raises:
        EyechartError: For wrong arguments, missing data, or a model that does not suit the protocol.
        ToleranceError: For more errors than `max_errors`, after the run is written.
    """
    chosen = complete_settings("evaluate", settings)
    seed, max_errors = check_whole_number("seed", seed), check_whole_number("max_errors", max_errors)
    for word, value, kind in (("name", name, str), ("identity", identity, str), ("options", options, Mapping | None)):
        check_argument(word, value, kind)
    if not isinstance(metrics, list | tuple) or not all(map(callable, metrics)):
        raise SpecError(f"metrics is {metrics!r}. Expected a list of functions of predictions, such as [my_metric].")
    paths = (data, chosen["data_root"], chosen["out"], chosen["store"])
    check_locale(Path.cwd(), *(text for text in paths if isinstance(text, str | Path)))
    labels = chosen["labels"] or {}
    call = _describe_call(model, data, protocol=protocol, options=options, labels=labels, limit=limit, seed=seed)
    session_settings = dataclasses.replace(_session_settings(chosen, limit, seed), max_errors=max_errors)
    subject = describe_model(model, name, identity)
    protocols = _protocol_names(protocol)
    selected = _select_data(data, chosen["data_name"], chosen["class_names"], session_settings, protocols)
    session_settings = dataclasses.replace(session_settings, data=selected.root)
    cases = _plan_cases(subject, selected, protocols, options or {})
    folder = RunFolder(session_settings.out / run_name())
    with ExitStack() as stack:
        if isinstance(subject.in_memory, InMemory):
            stack.enter_context(subject.in_memory.evaluating())
        session = stack.enter_context(
            Session(
                session_settings,
                models={subject.spec: subject.in_memory} if subject.in_memory else {},
                datasets={selected.split: selected.dataset} if selected.dataset else {},
                on_wait=lambda message: warnings.warn(message, stacklevel=2),
            )
        )
        run_cases(session, cases, folder, metrics, call, required=bool(protocol), progress=chosen["progress"])
    return EvaluationRun((folder.path,), session_settings.store)


def open_data(data: Any, settings: RunSettings, limit: Limit, seed: int) -> Dataset:
    """Return the images that `evaluate` would ask about, for complete settings."""
    session_settings = _session_settings(settings, limit, seed)
    selected = _select_data(data, settings["data_name"], settings["class_names"], session_settings)
    datasets = {selected.split: selected.dataset} if selected.dataset else {}
    with Session(dataclasses.replace(session_settings, data=selected.root), datasets=datasets) as session:
        return session.open_split(*selected.split)


def _session_settings(chosen: RunSettings, limit: Limit, seed: int) -> Settings:
    """Return the settings of a session. Raises SpecError for a limit or blank that cannot be read."""
    labels, devices = chosen["labels"] or {}, chosen["devices"]
    return Settings(
        data=chosen["data_root"],
        out=Path(chosen["out"]),
        store=Path(chosen["store"]),
        remote=chosen["remote"],
        limit=None if limit is None else _parse_limit(limit),
        seed=seed,
        offline=chosen["offline"],
        devices=0 if devices == "auto" else devices,
        ray=chosen["ray"],
        positive=chosen["positive"],
        cluster=chosen["cluster"],
        threshold_from=chosen["threshold_from"],
        blank=chosen["blank"] and parse_blank(chosen["blank"]),
        slices=chosen["slices"],
        templates=chosen["templates"],
        labels=tuple(LabelsOption(key, str(path)) for key, path in labels.items()),
    )


def _parse_limit(limit: Limit) -> Limit:
    try:
        return parse_limit(str(limit))
    except SpecError as error:
        raise SpecError(f"limit {error}") from None


def describe_model(model: Any, name: str, identity: str) -> _Subject:
    """Return the model that is evaluated. Raises SpecError or ModelError for one that is not known."""
    if isinstance(model, str):
        if identity:
            raise SpecError(
                f"identity is '{identity}', but the model is the specification '{model}', which says what it is. Give "
                "identity with a model in memory."
            )
        spec = parse_named_spec(f"{name}={model}" if name else model)
        return _Subject(spec, capabilities(spec))
    spec, in_memory = wrap_model(model, name, identity)
    known = frozenset(word for word, interface in INTERFACES.items() if isinstance(in_memory, interface))
    return _Subject(spec, known, in_memory)


def _describe_call(model: Any, data: Any, **arguments: Any) -> str:
    """Return a call of `evaluate` as records have it; an object in memory is shown by its type.

    >>> _describe_call("conse[]", [1], protocol="zero_shot", limit=None)
    "eyechart.evaluate('conse[]', <list>, protocol='zero_shot')"
    """
    shown = [
        repr(str(value)) if isinstance(value, str | Path) else f"<{type(value).__name__}>" for value in (model, data)
    ]
    named = [f"{name}={value!r}" for name, value in arguments.items() if value]
    return hide_secrets(f"eyechart.evaluate({', '.join([*shown, *named])})")


def _protocol_names(protocol: str | type[Protocol[Any]] | Collection[str]) -> list[str]:
    """Return the names of the protocols that are asked for, [] for all that suit."""
    if not isinstance(protocol, str | type | Collection):
        raise SpecError(
            f"protocol is {protocol!r}. Expected names or classes, or none of the argument for all that suit."
        )
    several = [protocol] if isinstance(protocol, str | type) else [*protocol]
    return [add_protocol(item) if isinstance(item, type) else item for item in several]


def _select_data(
    data: Any,
    name: str,
    class_names: Sequence[str] | Mapping[int, str],
    settings: Settings,
    protocols: Sequence[str] = (),
) -> _SelectedData:
    """Return the split that is evaluated. Raises SpecError or DataError for data that are not known."""
    path = Path(expand_home(str(data))) if isinstance(data, str | Path) else None
    folder = path if path and (isinstance(data, Path) or path.is_dir()) else None
    if isinstance(data, str | Path) and len(class_names):
        raise SpecError(
            f"class_names are for data in memory, and {data} is a {'folder' if folder else 'split'}: write them into "
            "the file classnames.txt of the folder of the split, a line each."
        )
    if isinstance(data, str) and folder is None:
        benchmark, _, split = data.rpartition("/")
        refs = list_splits(settings.data, offline=settings.offline) if settings.data and not protocols else ()
        family = next((ref.family for ref in refs if str(ref) == data), "")
        return _SelectedData((benchmark, split), root=settings.data, family=family)
    ref = find_split(folder) if folder else None
    benchmark, _, split = (name or str(ref or IN_MEMORY)).rpartition("/")
    if not benchmark or not split:
        raise SpecError(f"data_name is '{name}'. Expected a benchmark and a split, such as pets/test.")
    if folder is None or ref is None:
        tables = (get_protocol(word).open_in_memory(data, benchmark, split) for word in protocols)
        dataset = next(filter(None, tables), None)
        return _SelectedData((benchmark, split), dataset or open_in_memory(data, benchmark, split, class_names))
    named = dataclasses.replace(ref, benchmark=benchmark, split=split)
    dataset = open_split(named, cache=settings.store / "index", offline=settings.offline)
    root = None if name else str(folder.resolve().parent.parent)
    return _SelectedData((benchmark, split), dataset, root, ref.family)


def _plan_cases(
    subject: _Subject, selected: _SelectedData, names: Sequence[str], options: Mapping[str, object]
) -> list[Case]:
    """Return a case for each protocol and combination of its options. Raises ModelError if there is none."""
    split = selected.split
    chosen = names or [
        name
        for name in protocol_modules()
        if includes_benchmark(get_protocol(name).benchmarks, split[0], selected.family)
        and get_protocol(name).supports(subject.capabilities)
    ]
    cases: list[Case] = []
    for word in chosen:
        protocol_object = get_protocol(word)
        if not protocol_object.supports(subject.capabilities):
            needs_scores = "scorer" in protocol_object.requires and not subject.in_memory
            raise ModelError(
                f"{subject.spec.name} offers {', '.join(sorted(subject.capabilities))}. The protocol {word} needs "
                f"{' or '.join(protocol_object.requires)}: choose another protocol or model. "
                f"{KNN_HINT if 'neighbours' in protocol_object.requires else ''}"
                f"{PROBE_HINT if 'probe' in protocol_object.requires else ''}"
                f"{scoring_obstacle(subject.spec) if needs_scores else ''}".rstrip()
            )
        requested = _requested_options(protocol_object, options, single=len(names) == 1)
        grid = protocol_object.expand_grid(requested, subject.capabilities)
        cases += [Case(*split, subject.spec, word, values) for values in grid]
    if not cases:
        raise ModelError(
            f"{subject.spec.name} offers {', '.join(sorted(subject.capabilities)) or 'no capability'}, which no "
            f"protocol of {'/'.join(split)} needs. Name a protocol of your own with protocol=…"
        )
    return cases


def _requested_options(
    protocol: Protocol[Any], options: Mapping[str, object], *, single: bool
) -> dict[str, tuple[str, ...]]:
    """Return the requested values of a protocol's options. Raises SpecError for an unknown option or value."""
    known, requested = {option.name: option for option in protocol.options}, {}
    for key, value in options.items():
        owner, _, option = key.rpartition(".")
        if owner not in (protocol.name, "") or (not owner and not single):
            if owner not in protocol_modules():
                raise SpecError(
                    f"The option '{key}' names no protocol. Expected PROTOCOL.OPTION for several protocols."
                )
            continue
        if option not in known:
            listed = f"Its options are: {', '.join(known)}." if known else "It has no options."
            raise SpecError(f"{protocol.name} has no option '{option}'{did_you_mean(option, [*known])} {listed}")
        values = value if isinstance(value, tuple | list) else (value,)
        text = ",".join(map(str, values))
        requested[option] = known[option].parse_values(text, f"{protocol.name}.{option}")
    return requested


def run_cases(
    session: Session,
    cases: Sequence[Case],
    folder: RunFolder,
    metrics: Sequence[Metric[Any]],
    call: str,
    *,
    required: bool,
    progress: bool,
) -> None:
    """Evaluate cases one by one, and write the run with the `call` that asked for it.

    A case that cannot run is left out unless it is `required`.
    """
    records: list[Record] = []
    failed: list[str] = []
    try:
        for case in cases:
            started = time.time()
            with _show_progress(str(case), shown=progress) as report:
                run = session.evaluate(case, folder.path, report)
                try:
                    run(*metrics)
                except UnavailableError as error:
                    if required:
                        raise
                    warnings.warn(f"{case.protocol} is left out: {error}", stacklevel=3)
                    continue
            result = run.get_result()
            record = result.write_record(time.time() - started, describe_environment(), call)
            records.append(replace(record, status=PASSED))
            folder.append(records[-1])
            if len(errors := result.predictions.error_messages()) > session.settings.max_errors:
                failed.append(f"{case} ({case.protocol}): {len(errors)} errors, the first of them: {errors[0]}")
    except KeyboardInterrupt:
        print(_describe_interruption(session, cases), file=sys.stderr)
        raise
    finally:
        if records:
            commit = read_git_commit(Path.cwd())
            folder.finish(records, folder.describe_run(records, command=call, git_commit=commit))
            folder.link_latest()
    if failed:
        reasons = "; ".join(text.removesuffix(".") for text in failed)
        raise ToleranceError(f"{reasons}. All other answers are stored and scored in {folder.path}.")
    if not records:
        raise ModelError(f"No protocol could run with {cases[0].model.name} on {cases[0].whole_split}.")


def _describe_interruption(session: Session, cases: Sequence[Case]) -> str:
    """Return what is kept of an evaluation that the user ended, and how it goes on."""
    kept = f"eyechart: answers so far are kept in {session.settings.store}: the same call goes on"
    is_memory = any(case.model.backend == BACKEND for case in cases)
    return f"{kept}, if it has identity=… for the model in memory" if is_memory else kept


@contextmanager
def _show_progress(case: str, *, shown: bool) -> Iterator[Progress]:
    """Yield the function that reports progress; it shows a bar from the first report on."""
    bar: tqdm[Any] | None = None

    def report(done: int, total: int, unit: str, cost: str = "", /) -> None:
        nonlocal bar
        if shown and bar is None:
            bar = tqdm(total=total, desc=case, unit=f" {unit}", leave=False)
        if bar is not None:
            bar.total = total
            bar.set_postfix_str(cost, refresh=False)
            bar.update(done - bar.n)

    try:
        yield report
    finally:
        if bar is not None:
            bar.close()

"""`eyechart store`: the stored answers, their size, damaged ones, the deletion of unused ones, and copies of stores."""

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

import click

from eyechart.commands.groups import CommandGroup
from eyechart.commands.parameters import PATH, runs_argument, store_option

if TYPE_CHECKING:
    from eyechart.inference.store.copies import Copied

DAMAGED = 1


@click.group(cls=CommandGroup)
def store() -> None:
    """List, measure, verify, prune, merge and copy stored answers."""


@store.command("ls")
@store_option
def _list_store(store: Path) -> None:
    """List the entries.

    Prints for each the digest, size, state (complete, partial, or open to the texts of every run), kind of answers, and
    model. All texts of a model about one data set are one entry.
    """
    from eyechart.inference.store.contents import list_entries

    for entry in list_entries(store):
        print(f"{entry.digest[:12]}  {format_size(entry.size):>9}  {entry.state:8}  {entry.description}")


@store.command()
@store_option
def size(store: Path) -> None:
    """Print the number of entries and their size by model."""
    from eyechart.inference.store.contents import list_entries

    sizes: dict[str, list[int]] = {}
    for entry in list_entries(store):
        sizes.setdefault(entry.description.partition("  ")[2], []).append(entry.size)
    for model, values in sorted(sizes.items(), key=lambda item: -sum(item[1])):
        print(f"{format_size(sum(values)):>9}  {len(values):>6,}  {model}")
    total = [value for values in sizes.values() for value in values]
    print(f"{format_size(sum(total)):>9}  {len(total):>6,}  in all")


@store.command()
@store_option
def verify(store: Path) -> int:
    """Check the files of every entry.

    Prints every entry whose files are not those that were written; the exit status is then 1. Delete these folders and
    run again.
    """
    from eyechart.inference.store.contents import list_entries

    entries = [(entry, entry.damage()) for entry in list_entries(store)]
    damaged = [(entry, why) for entry, why in entries if why]
    for entry, why in damaged:
        print(f"{entry.folder}: {why}")
    partial = sum(entry.state == "partial" for entry, _ in entries)
    print(f"{len(entries):,} entries: {partial:,} are partial and {len(damaged):,} are damaged.")
    return DAMAGED if damaged else 0


@store.command()
@runs_argument
@store_option
@click.option("--delete", is_flag=True, help="Delete the entries. Without it, they are only listed.")
def prune(runs: Sequence[Path], store: Path, *, delete: bool) -> None:
    """List or delete the entries that given runs do not use.

    RUN is the folder of a run, or a folder of runs such as reports/runs. Entries that their records name are kept; the
    answers of cases without a record are not. All texts of a model about one data set are one entry, which is kept
    whole if one of them is used. No file outside of entries is deleted, and no entry that a run holds.
    """
    from eyechart.errors import ReportError
    from eyechart.inference.store.contents import unused_entries
    from eyechart.reports.overview.collect import read_runs

    collected = read_runs(runs)
    for reason in collected.errors.values():
        raise ReportError(f"{reason} Nothing was deleted, since the entries that this run uses are not known.")
    used = {digest for run in collected.runs.values() for record in run.records for digest in record.store_entries}
    entries = [*unused_entries(store, used)]
    freed = sum(entry.size for entry in entries)
    for entry in entries:
        print(f"{entry.digest[:12]}  {format_size(entry.size):>9}  {entry.description}")
        if delete:
            entry.delete()
    done = "deleted" if delete else "not used by these runs; --delete deletes them"
    print(f"{len(entries):,} entries ({format_size(freed)}) {done}.")


@store.command()
@click.argument("into", metavar="INTO", type=PATH)
@click.argument("sources", metavar="STORE…", nargs=-1, required=True, type=PATH)
def merge(into: Path, sources: Sequence[Path]) -> int:
    """Add the answers of stores to the store INTO.

    The result does not depend on the order, and another merge of the same stores changes nothing. The exit status is 1
    if two stores have different answers to the same request. An entry of numbers is then not merged. Of two different
    texts, INTO keeps its own; all texts that INTO does not have are added.
    """
    from eyechart.inference.store.copies import merge_store

    return _print_copies([merge_store(into, source) for source in sources])


@store.command()
@click.argument("store", metavar="STORE", type=PATH)
@click.argument("url", metavar="URL")
def push(store: Path, url: str) -> int:
    """Copy the answers of STORE to a URL, such as s3://bucket/answers.

    fsspec opens the URL; the package of its protocol (s3fs for s3://) must be installed.
    """
    from eyechart.inference.store.copies import push_store

    return _print_copies([push_store(store, url)])


@store.command()
@click.argument("url", metavar="URL")
@click.argument("store", metavar="STORE", type=PATH)
def pull(url: str, store: Path) -> int:
    """Add the answers at a URL to STORE, after a check of their digests."""
    from eyechart.inference.store.copies import pull_store

    return _print_copies([pull_store(url, store)])


def _print_copies(copies: "Sequence[Copied]") -> int:
    """Print the numbers of copied entries and the conflicts; return the exit status."""
    conflicts = [conflict for copied in copies for conflict in copied.conflicts]
    for conflict in conflicts:
        print(f"{conflict}. Delete the wrong one, and merge again.")
    added, completed, present = (
        sum(getattr(copied, name) for copied in copies) for name in ("added", "completed", "present")
    )
    print(
        f"{added:,} entries added, {completed:,} completed, {present:,} there already, {len(conflicts):,} in conflict."
    )
    return DAMAGED if conflicts else 0


def format_size(count: int) -> str:
    """Return a number of bytes with its unit.

    >>> format_size(12), format_size(1_234_567)
    ('12 B', '1.2 MB')
    """
    size, units = float(count), ["B", "kB", "MB", "GB", "TB"]
    while size >= 1000 and len(units) > 1:
        size /= 1000
        units.pop(0)
    return f"{size:.0f} B" if units[0] == "B" else f"{size:.1f} {units[0]}"

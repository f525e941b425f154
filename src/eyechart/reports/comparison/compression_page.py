"""The page of compressed variants: one HTML file with tables, chart and changed predictions, without any code."""

from collections.abc import Iterator, Sequence
from html import escape
from io import StringIO

from eyechart.errors import ReportError
from eyechart.reports.comparison.compression import CompressedCase
from eyechart.reports.comparison.compression_chart import draw_compression
from eyechart.reports.comparison.compression_tables import compression_tables
from eyechart.reports.figures.registry import METADATA, matplotlib_defaults
from eyechart.reports.tables.render import Table, format_cell, numeric_columns, one_line

MOST_SAMPLES = 200  # of a variant
STYLE = """
body { font: 15px/1.5 system-ui, sans-serif; margin: 2rem; color: #1a1a1a; background: #fff; }
h1 { font-size: 1.4rem; } h2 { font-size: 1.1rem; margin-top: 2rem; }
.wide { overflow-x: auto; } svg { max-width: 100%; height: auto; }
table { border-collapse: collapse; } th, td { padding: .25rem .6rem; border-bottom: 1px solid #ccc; text-align: left; }
th { vertical-align: bottom; } td.equal, td.kept, td.worse, td.not { white-space: nowrap; }
td.number { text-align: right; font-variant-numeric: tabular-nums; white-space: nowrap; }
td.equal, td.kept { background: #e3f4e3; } td.worse { background: #fbe0e0; } td.not { background: #f0f0f0; }
"""
SAMPLE_COLUMNS = ("sample", "label", "before", "after", "outcome")


def compression_page(cases: Sequence[CompressedCase]) -> str:
    """Return the page as HTML."""
    title = f"Compressed variants of {cases[0].original.name}"
    parts = [
        f"<h1>{_text(title)}</h1>",
        _chart(cases),
        *map(_table, compression_tables(cases)),
        *(part for case in cases for part in _samples(case)),
    ]
    policy = "default-src 'none'; style-src 'unsafe-inline'"
    return (
        '<!doctype html>\n<html lang="en">\n<head>\n<meta charset="utf-8">\n'
        f'<meta http-equiv="Content-Security-Policy" content="{policy}">\n'
        '<meta name="viewport" content="width=device-width, initial-scale=1">\n'
        f"<title>{_text(title)}</title>\n<style>{STYLE}</style>\n</head>\n<body>\n<main>\n"
        + "\n".join(parts)
        + "\n</main>\n</body>\n</html>\n"
    )


def _text(text: str) -> str:
    return escape(one_line(text))


def _chart(cases: Sequence[CompressedCase]) -> str:
    """Return the chart as SVG, or the sentence that says how to install what draws it."""
    try:
        figure = draw_compression(cases)
    except ReportError as error:
        return f"<p>{_text(str(error))}</p>"
    with matplotlib_defaults():
        written = StringIO()
        figure.savefig(written, format="svg", metadata=METADATA)
    drawing = written.getvalue()
    label = "Change of accuracy of each variant with its 95 % interval, against size and against speed"
    return (
        f'<figure role="img" aria-label="{label}">{drawing[drawing.index("<svg") :]}'
        "<figcaption>Bars: 95 % interval of the change of accuracy, smallest and largest speed of a round. "
        "Dashed: the margin.</figcaption></figure>"
    )


def _table(table: Table) -> str:
    numeric = numeric_columns(table)
    heads = "".join(f'<th scope="col">{_text(column)}</th>' for column in table.columns)
    rows = []
    for row in table.rows:
        texts = [format_cell(cell) for cell in row]
        classes = ["number" if is_number else "" for is_number in numeric]
        classes[1] = texts[1].partition(" ")[0]  # the verdict
        cells = [f'<td class="{name}">{_text(text)}</td>' for name, text in zip(classes, texts, strict=True)]
        rows.append(f"<tr>{''.join(cells)}</tr>")
    notes = "".join(f"<li>{_text(note)}</li>" for note in table.notes)
    return (
        f'<h2>{_text(table.title)}</h2>\n<div class="wide" tabindex="0"><table>\n'
        f"<thead><tr>{heads}</tr></thead>\n<tbody>\n" + "\n".join(rows) + f"\n</tbody></table></div>\n<ul>{notes}</ul>"
    )


def _samples(case: CompressedCase) -> Iterator[str]:
    """Yield the changed predictions of a variant, lost ones first."""
    if not len(case.flipped):
        return
    table = case.flipped.assign(
        outcome=(case.flipped["correct_after"] - case.flipped["correct_before"])
        .map({-1: "lost", 1: "gained"})
        .fillna("")
    )
    order = table["outcome"].map({"lost": 0, "gained": 1, "": 2})
    table = table.loc[order.sort_values(kind="stable").index]
    shown = table[["key", "target", "before", "after", "outcome"]].head(MOST_SAMPLES)
    rows = "\n".join(
        f"<tr>{''.join(f'<td>{_text(str(value))}</td>' for value in row)}</tr>" for row in shown.itertuples(index=False)
    )
    heads = "".join(f'<th scope="col">{name}</th>' for name in SAMPLE_COLUMNS)
    more = f"<p>{len(table) - len(shown):,} more are not shown.</p>" if len(table) > len(shown) else ""
    name = f"{case.variant.name}, {case.key[0]} ({case.key[1]}): {len(table):,} changed"
    yield (
        f"<details><summary>{_text(name)}</summary>\n<table><thead><tr>{heads}</tr></thead>\n<tbody>{rows}</tbody></table>"
        f"{more}</details>"
    )

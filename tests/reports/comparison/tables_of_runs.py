"""What `compare` and `leaderboard` say of runs whose models are wrong about some of many images."""

from eyechart.reports.comparison.leaderboard import leaderboards
from eyechart.reports.comparison.run_comparison import comparison_tables, match_models, match_runs
from eyechart.reports.runs import load
from eyechart.reports.tables.render import NumberCell

CONSE, CLIP, TIMM = "conse[]", "open_clip[ViT-B-32,pretrained=laion2b_s34b_b79k]", "timm[tf_efficientnet_lite0]"
SIZE, WRONG = 120, 999
TRUTHS = tuple((index, (index,) if index % 3 else (index, index + 1), None) for index in range(SIZE))
CHAIN = {"conse[a]": range(0), "conse[b]": range(4), "conse[c]": range(8), "conse[d]": range(12)}


def rows(*indices, specs=None):
    """The rows, by what they are about, as plain values."""
    made = comparison_tables(match_models(indices, specs) if specs else match_runs(indices))[0]
    cells = [dict(zip(made.columns, map(plain, row), strict=True)) for row in made.rows]
    return {(row["Case"], row["Protocol"], row["Metric"], row["Labels"], row["Subset"]): row for row in cells}


def plain(cell):
    return cell.value if isinstance(cell, NumberCell) else cell


def notes(*indices):
    return "\n".join(comparison_tables(match_runs(indices))[0].notes)


def boards(*folders, metric=None, labels="ImGT", alpha=0.05):
    return leaderboards(load(folders), metric, labels, alpha)


def ranks(*folders, **how):
    """Every model's rank on the only board."""
    (board,) = boards(*folders, **how)
    return {row[1]: row[0] for row in board.rows}

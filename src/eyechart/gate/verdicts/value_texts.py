"""Values and changes of metrics as texts: proportions in percent and points, every other metric as a number."""

from eyechart.gate.comparison.compare_metrics import MetricComparison
from eyechart.results.glossary import is_percent


def format_values(name: str, before: float, after: float, *, counted: bool = False) -> tuple[str, str]:
    """Return the texts of two values of a metric, one of them from the baseline.

    >>> format_values("acc1", 0.625, 0.5675), format_values("log_score", -2.4852, -2.4853)
    (('62.50 %', '56.75 %'), ('-2.4852', '-2.4853'))
    """
    in_percent = is_percent(name, before, after, counted=counted)
    first, second = (f"{100 * value:.2f} %" if in_percent else f"{value:.4f}" for value in (before, after))
    return first, second


def compared_values(comparison: MetricComparison) -> tuple[str, str]:
    """Return the value in the baseline and the value now."""
    return format_values(comparison.metric.name, comparison.before, comparison.after, counted=comparison.is_proportion)


def is_percent_change(comparison: MetricComparison) -> bool:
    """Return whether both values of a metric are written in percent."""
    before, after = comparison.before, comparison.after
    return is_percent(comparison.metric.name, before, after, counted=comparison.is_proportion)


def format_change(comparison: MetricComparison, *, with_interval: bool = True) -> str:
    """Return the change with its interval, such as -5.75 points [-10.10, -1.40]."""
    in_points = is_percent_change(comparison)
    ends = comparison.ci if with_interval and comparison.ci is not None else ()
    delta, *ends_text = (f"{100 * value:+.2f}" if in_points else f"{value:+.4f}" for value in (comparison.delta, *ends))
    interval = f" [{', '.join(ends_text)}]" if ends_text else ""
    return f"{delta}{' points' if in_points else ''}{interval}"


def format_points(loss: float) -> str:
    """Return a loss, a fraction, in points.

    >>> format_points(0.01), format_points(0.0714)
    ('1 point', '7.1 points')
    """
    points = f"{100 * loss:.2g}" if loss < 0.1 else f"{100 * loss:.1f}"
    return f"{points} point{'s' * (points != '1')}"

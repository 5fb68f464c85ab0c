"""Pieces of PromQL over the nodes that are chosen, and the variables that choose them."""

from panels import choice, source

ALL = 'namespace=~"$namespace",job=~"$job",instance=~"$node"'
DATASOURCE = source("datasource", "Prometheus", "prometheus")
COMMON = [
    DATASOURCE,
    choice("namespace", "Namespace", "namespace"),
    choice("job", "Installation", "job", 'smsc_draining{namespace=~"$namespace"}'),
    choice("node", "Node", "instance", 'smsc_draining{namespace=~"$namespace",job=~"$job"}'),
]


def rate(metric, by="", more=""):
    """Per second, over all nodes that are chosen."""
    selector = f"{ALL},{more}" if more else ALL
    grouped = f" by ({by})" if by else ""
    return f"sum{grouped} (rate({metric}{{{selector}}}[$__rate_interval]))"


def total(metric, by="", more="", how="sum"):
    selector = f"{ALL},{more}" if more else ALL
    grouped = f" by ({by})" if by else ""
    return f"{how}{grouped} ({metric}{{{selector}}})"


def quantiles(metric, more=""):
    """Three lines: half, nearly all, all but the worst."""
    shares = [(0.5, "p50"), (0.95, "p95"), (0.99, "p99")]
    return [(quantile(share, metric, more=more), name) for share, name in shares]


def zero(expr):
    """0 instead of nothing, where nothing is the worst."""
    return f"{expr} or vector(0)"


def in_an_hour(metric, more=""):
    selector = f"{ALL},{more}" if more else ALL
    return f"sum (increase({metric}{{{selector}}}[1h]))"


def quantile(share, metric, by="", more=""):
    selector = f"{ALL},{more}" if more else ALL
    grouped = f"le, {by}" if by else "le"
    return f"histogram_quantile({share}, sum by ({grouped}) (rate({metric}_bucket{{{selector}}}[$__rate_interval])))"

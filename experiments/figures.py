"""How every figure looks: colours that colour-blind readers tell apart, labels, bounds, spreads."""

import io
import pathlib
from typing import Any

import numpy as np

from jaxopt_svm.data.extra import need

__all__ = ["COLOURS", "bound", "dress", "grey_line", "mean_and_spread", "new_figure", "save"]

# Petroff, arXiv:2107.02270: ten colours chosen for contrast under colour-vision deficiency
COLOURS = ("#3f90da", "#ffa90e", "#bd1f01", "#94a4a2", "#832db6")
COLOURS += ("#a96b59", "#e76300", "#b9ac70", "#717581", "#92dadd")


def new_figure(**options) -> Any:
    """A Figure of its own, without pyplot: no window. "C0" to "C9" are the colours above."""
    matplotlib = need("matplotlib", "drawing")
    matplotlib.rcParams["axes.prop_cycle"] = matplotlib.cycler(color=COLOURS)
    return need("matplotlib.figure", "drawing").Figure(layout="constrained", dpi=110, **options)


def save(figure: Any, path: pathlib.Path) -> None:
    """A small png: line drawings need no more than 200 colours."""
    drawn = io.BytesIO()
    figure.savefig(drawn)
    image = need("PIL.Image", "drawing").open(drawn).convert("RGB")
    image.quantize(200).save(path, optimize=True)


def dress(ax: Any, x: str, y: str, title: str = "", log: str = "xy", legend: bool = True) -> None:
    """Labels with units, scales ("x", "y", "xy" or ""), grid and legend, the same everywhere."""
    ax.set(xlabel=x, ylabel=y)
    if "x" in log:
        ax.set_xscale("log")
    if "y" in log:
        ax.set_yscale("log")
    if title:
        ax.set_title(title, fontsize=10)
    ax.grid(alpha=0.3, linewidth=0.6)
    ax.spines[["top", "right"]].set_visible(False)
    if legend and ax.get_legend_handles_labels()[0]:
        ax.legend(framealpha=0.75, edgecolor="none", fontsize=8)


def mean_and_spread(ax: Any, x: Any, runs: Any, label: str, colour: str, **options) -> None:
    """runs (seeds, points): the mean, and a band from the smallest to the largest."""
    runs = np.maximum(np.asarray(runs, float), 1e-300)  # for logarithmic axes
    ax.plot(x, runs.mean(0), color=colour, label=label, lw=1.5, **options)
    if len(runs) > 1:
        ax.fill_between(x, runs.min(0), runs.max(0), color=colour, alpha=0.18, lw=0)


def bound(ax: Any, x: Any, y: Any, label: str | None, colour: str = "0.2") -> None:
    """A theorem: dotted, beside what was measured."""
    ax.plot(x, y, ":", color=colour, lw=1.4, label=label)


def grey_line(ax: Any, y: float) -> None:
    """What was asked for."""
    ax.axhline(y, color="0.6", lw=0.8)

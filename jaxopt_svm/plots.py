"""The figures of a sweep and of a cross-validation."""

import pathlib
from typing import Any

import numpy as np

from jaxopt_svm.core.solution import Solution
from jaxopt_svm.data.extra import need

__all__ = ["check_format", "cv_figure", "sweep_figure"]

COLOURS = "viridis"
BRIGHTEST = 0.88  # the map's last yellow is too pale on white
TRAIN, HELD_OUT, OBJECTIVE = "#0072b2", "#d55e00", "0.25"  # Okabe and Ito: safe for colour-blind


def _figure(**options) -> Any:
    # a Figure of its own, without pyplot: no window, no global state
    return need("matplotlib.figure", "drawing a figure").Figure(**options)


def check_format(path: pathlib.Path) -> None:
    """Refuse an ending that matplotlib cannot write."""
    known = _figure().canvas.get_supported_filetypes()
    if path.suffix[1:].lower() not in known:
        raise ValueError(f"{path}: the ending must be one of {', '.join(sorted(known))}")


def _shades(lams: np.ndarray) -> Any:
    """lam -> colour, logarithmic, with the ends of the grid at the ends of the map."""
    cm, colors = need("matplotlib.cm", "drawing"), need("matplotlib.colors", "drawing")
    maps = need("matplotlib", "drawing").colormaps
    cut = colors.ListedColormap(maps[COLOURS](np.linspace(0, BRIGHTEST, 256)))
    return cm.ScalarMappable(colors.LogNorm(lams.min(), lams.max()), cut)


def sweep_figure(
    solution: Solution,
    *,
    title: str,
    rtol: float | None = None,
    train: np.ndarray | None = None,
    held_out: np.ndarray | None = None,
    error: str = "error",
) -> Any:
    """Relative gap against passes; objective and errors along the path.

    train, held_out: (lanes,) errors. error: what they are, for the axis.
    """
    lams, trace = np.asarray(solution.lam, float), solution.trace
    figure = _figure(figsize=(10, 4.4), layout="constrained", dpi=150)
    figure.suptitle(title)
    axes = figure.subplot_mosaic([["gap", "objective"], ["gap", "error"]], width_ratios=[1.25, 1])
    for one in axes.values():
        one.spines[["top", "right"]].set_visible(False)
        one.grid(alpha=0.25, linewidth=0.6)

    gap = axes["gap"]
    shades = _shades(lams) if lams.min() < lams.max() else None
    relative = np.asarray(trace.gap) / np.abs(np.asarray(trace.primal))
    relative = np.where(relative > 0, relative, np.nan)  # below rounding a log axis has no place
    for lam, passes, values in zip(lams, np.asarray(trace.passes), relative):
        colour = TRAIN if shades is None else shades.to_rgba(lam)
        gap.plot(passes, values, color=colour, linewidth=1.3)
        last = np.flatnonzero(np.isfinite(values))[-1:]
        gap.plot(passes[last], values[last], "o", color=colour, markersize=3.5)
    gap.set_xscale("symlog", linthresh=1)  # linear up to the first pass, so that 0 is there
    gap.set_xlim(left=0)
    gap.xaxis.set_major_formatter("{x:,.0f}")
    gap.set_yscale("log")
    gap.set(xlabel="passes over the data", ylabel="certified relative gap, (P - D) / |P|")
    if rtol:
        gap.axhline(rtol, color="0.4", linewidth=0.9, linestyle="--")
        gap.annotate(
            f"asked for: {rtol:g}", (0, rtol), (4, 3), textcoords="offset points", color="0.3"
        )
    if shades is not None:
        figure.colorbar(shades, ax=gap, label="lambda", pad=0.02)

    order = np.argsort(lams)
    mark = {"marker": "o", "markersize": 3.5, "linewidth": 1.3, "clip_on": False}
    objective, errors = axes["objective"], axes["error"]
    primal = np.asarray(solution.certificate.primal)
    objective.plot(lams[order], primal[order], color=OBJECTIVE, **mark)
    objective.set_ylabel("objective P")
    objective.tick_params(which="both", labelbottom=False)
    for name, values, colour in (("train", train, TRAIN), ("held out", held_out, HELD_OUT)):
        if values is not None:
            errors.plot(lams[order], np.asarray(values)[order], color=colour, label=name, **mark)
    errors.set(xlabel="lambda", ylabel=error)
    room = 1.3 if lams.max() > 10 * lams.min() else 5  # so that a whole decade is in sight
    for one in (objective, errors):
        one.set_xscale("log")
        one.set_xlim(lams.min() / room, lams.max() * room)
        one.set_ylim(bottom=0)
    if held_out is not None:
        errors.legend(frameon=False, loc="best")
    figure.align_ylabels([objective, errors])
    return figure


def cv_figure(found: Any, *, title: str, error: str = "error") -> Any:
    """Mean error and loss over the folds with one standard error, each fold faintly behind.

    found: a CrossValidation. Vertical lines: the best lam, and the one-standard-error lam.
    """
    lams, order = np.asarray(found.lams), np.argsort(found.lams)
    figure = _figure(figsize=(9, 3.8), layout="constrained", dpi=150)
    relative = np.asarray(found.certificate.gap) / np.abs(np.asarray(found.certificate.primal))
    figure.suptitle(f"{title}: {relative.size:,} models, largest relative gap {relative.max():.1e}")
    panels = zip(figure.subplots(1, 2), (found.errors, found.losses), (error, "loss"))
    for axes, values, name in panels:
        colour = HELD_OUT if name == error else TRAIN
        mean, spread = values.mean(axis=0), values.std(axis=0, ddof=1) / np.sqrt(len(values))
        axes.plot(lams[order], values[:, order].T, color=colour, linewidth=0.7, alpha=0.25)
        axes.errorbar(
            lams[order], mean[order], spread[order], color=colour, marker="o", markersize=3.5,
            linewidth=1.3, capsize=2,
        )  # fmt: skip
        for lam, style, text in (
            (found.best_lam, "-", "best"),
            (found.one_se_lam, "--", "one standard error"),
        ):
            label = f"{text}: {lam:.2g}"
            axes.axvline(lam, color="0.4", linewidth=0.9, linestyle=style, label=label)
        axes.set_xscale("log")
        axes.set(xlabel="lambda", ylabel=f"held-out {name}")
        axes.set_ylim(bottom=0)
        axes.spines[["top", "right"]].set_visible(False)
        axes.grid(alpha=0.25, linewidth=0.6)
    axes.legend(frameon=False, loc="best")
    return figure

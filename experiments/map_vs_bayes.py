"""How far apart are MAP and Bayes, and does the choice of parameter matter?

Logistic regression with one weight, prior N(0, 4) and the lecture's four examples. MAP in w and MAP
in u = e^w are different models; averaging over the posterior is one prediction whatever the
parameter. Left: the posterior and its two modes. Right: P(y = 1 | x), in which plugging in a mode
is overconfident far from the data.
"""

import time
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

import jaxopt_svm as js
from experiments.common import Found, new_figure, set_up
from jaxopt_svm.report import aligned

X, Y, VARIANCE = np.array([1.0, 2.0, -1.5, 0.5]), np.array([1.0, 1.0, -1.0, -1.0]), 4.0
ASKED = (1.0, 3.0, 10.0)


def main(*, quick: bool = False) -> Found:
    set_up()
    started = time.perf_counter()
    grid = 4001 if quick else 20_001
    in_w = js.logistic_posterior(X, Y, variance=VARIANCE, grid=grid)
    in_u = in_w.through(jnp.exp)
    mode_w, mode_u = float(in_w.mode), float(jnp.log(in_u.mode))
    queries = np.unique(np.concatenate([np.linspace(-12, 12, 241), ASKED]))
    predictions = {
        "MAP in w": jax.nn.sigmoid(queries * mode_w),
        "MAP in u = e^w": jax.nn.sigmoid(queries * mode_u),
        "mean of w": jax.nn.sigmoid(queries * float(in_w.mean)),
        "Bayes, over w": in_w.predict(queries),
        "Bayes, over u": in_u.predict(queries),
    }
    variance = float(in_w.expect((in_w.w - in_w.mean) ** 2))
    normal = js.average_sigmoid(jnp.asarray(queries * mode_w), jnp.asarray(queries**2 * variance))
    predictions["Gaussian about the mode"] = normal
    predictions = {name: np.asarray(p) for name, p in predictions.items()}
    rows: list[dict[str, Any]] = [
        {"x": x} | {name: p[i] for name, p in predictions.items()} for i, x in enumerate(queries)
    ]
    table = [["P(y = 1 | x)", *(f"x = {x:g}" for x in ASKED)]]
    at = [int(np.flatnonzero(queries == x)[0]) for x in ASKED]
    table += [[name, *(f"{p[i]:.4f}" for i in at)] for name, p in predictions.items()]
    figure = new_figure(figsize=(11, 4.2))
    left, right = figure.subplots(1, 2)
    w = np.asarray(in_w.w)
    show = (w > -3) & (w < 7)
    left.plot(w[show], np.asarray(in_w.density)[show], label="p(w | S)")
    # the density of u, drawn over log u, is what MAP in u maximises
    over = np.exp(np.asarray(in_u.log_density))
    left.plot(
        w[show], over[show] / over[show].max() * 0.4, "--", label="p(u | S) at u = e^w, scaled"
    )
    marks = (("mode of w", mode_w), ("log of the mode of u", mode_u), ("mean", float(in_w.mean)))
    for k, (name, x) in enumerate(marks):
        left.axvline(x, color=f"C{k + 2}", lw=1, label=f"{name}: {x:.3f}")
    left.set(xlabel="w", ylabel="density")
    left.legend(frameon=False, fontsize=8)
    for name, p in predictions.items():
        style = {"Bayes, over w": "-", "Bayes, over u": ":"}.get(name, "--")
        right.plot(queries, p, style, lw=2.5 if style == ":" else 1.5, label=name)
    right.set(xlabel="x", ylabel="P(y = 1 | x)")
    right.legend(frameon=False, fontsize=8)
    for ax in (left, right):
        ax.grid(alpha=0.3)
    far = at[-1]
    apart = float(np.abs(predictions["Bayes, over w"] - predictions["Bayes, over u"]).max())
    sentence = (
        f"At x = {ASKED[-1]:g} MAP says {predictions['MAP in w'][far]:.5f} in w and "
        f"{predictions['MAP in u = e^w'][far]:.4f} in e^w, Bayes "
        f"{predictions['Bayes, over w'][far]:.4f} in both (they differ by {apart:.0e} at most)."
    )
    facts = {"seconds": time.perf_counter() - started, "mode_w": mode_w, "log_mode_u": mode_u}
    return Found(rows, facts | {"mean_w": float(in_w.mean)}, aligned(table, (0,)), sentence, figure)

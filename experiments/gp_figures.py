"""What do three kernels believe before and after five observations?

The lecture's pictures of Gaussian processes: k = exp(-(x - x')^2) (smooth), exp(-sin^2(x - x'))
(period pi) and (xx' + 1)^2 (parabolas). Above: functions drawn from the prior; below: the posterior
given five values, its mean, a band of two standard deviations and drawn functions. The parabolas
cannot pass through five points, so all three are given noise of variance 0.01.
"""

import time
from typing import Any

import jax
import numpy as np

import jaxopt_svm as js
from experiments.common import Found, new_figure, set_up
from jaxopt_svm.report import aligned

KERNELS = {
    "exp(-(x - x')^2)": js.RBF(1.0),
    "exp(-sin^2(x - x'))": js.Periodic(1.0, 1.0),
    "(xx' + 1)^2": js.Polynomial(1.0, 1.0, 2),
}
X = np.array([-2.2, -1.0, 0.2, 1.4, 2.6])
Y = np.sin(X) + 0.3
NOISE, DRAWS, FAR = 0.01, 5, 4.5


def main(*, quick: bool = False) -> Found:
    set_up()
    started, grid = time.perf_counter(), np.linspace(-5.0, 5.0, 81 if quick else 301)
    rows: list[dict[str, Any]] = []
    table = [["kernel", "log evidence", "sd at the data", f"sd at {FAR:g}", "rank"]]
    figure = new_figure(figsize=(12, 6.5))
    axes = figure.subplots(2, len(KERNELS), sharex=True)
    evidence = {}
    for k, (name, kernel) in enumerate(KERNELS.items()):
        gp = js.make_gp(X, Y, kernel=kernel, noise=NOISE)
        key = jax.random.key(k)
        prior = np.asarray(js.prior_sample(kernel, grid, key, DRAWS))
        mean, sd = np.asarray(gp.mean(grid)), np.sqrt(np.asarray(gp.variance(grid)))
        drawn = np.asarray(gp.sample(grid, jax.random.fold_in(key, 1), DRAWS))
        evidence[name] = float(gp.log_evidence())
        values = np.linalg.eigvalsh(np.asarray(kernel.matrix(grid, grid)))
        rank = int(np.sum(values > 1e-9 * values[-1]))
        at_data, far = (np.sqrt(np.asarray(gp.variance(x)).max()) for x in (X, np.array([FAR])))
        table.append([name, f"{evidence[name]:.2f}", f"{at_data:.3f}", f"{far:.3f}", f"{rank}"])
        for i, x in enumerate(grid):
            row = {"kernel": name, "x": x, "mean": mean[i], "low": mean[i] - 2 * sd[i]}
            row["high"] = mean[i] + 2 * sd[i]
            row |= {f"prior_{j}": prior[j, i] for j in range(DRAWS)}
            rows.append(row | {f"posterior_{j}": drawn[j, i] for j in range(DRAWS)})
        above, below = axes[0, k], axes[1, k]
        above.plot(grid, prior.T, lw=1)
        above.set_title(f"k = {name}", fontsize=10)
        below.fill_between(grid, mean - 2 * sd, mean + 2 * sd, color="C0", alpha=0.15, lw=0)
        below.plot(grid, drawn.T, lw=0.8, alpha=0.7)
        below.plot(grid, mean, "k", lw=1.8, label="mean")
        below.plot(X, Y, "ko", ms=5)
        below.set_xlabel("x")
        below.set_ylim(-4, 4)
        above.set_ylim(*((-12, 12) if k == 2 else (-3.2, 3.2)))
        for ax in (above, below):
            ax.grid(alpha=0.3)
    axes[0, 0].set_ylabel("prior: drawn functions")
    axes[1, 0].set_ylabel("posterior: mean, band of 2 sd, draws")
    best = max(evidence, key=lambda name: evidence[name])
    sentence = (
        f"Of the three, {best} explains the five values best (log evidence {evidence[best]:.2f}); "
        f"far from the data only the smooth kernel returns to its prior: standard deviation "
        f"{table[1][3]} at x = {FAR:g}, where the periodic one keeps {table[2][3]}."
    )
    facts = {"seconds": time.perf_counter() - started, "log_evidence": evidence}
    return Found(rows, facts, aligned(table, (0,)), sentence, figure)

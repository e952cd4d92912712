"""What users run: jax's default configuration, with x64 off, in a process of its own."""

import os
import subprocess
import sys
import textwrap

import pytest

ROOT = os.path.dirname(os.path.dirname(os.path.abspath(__file__)))


def python(code: str, *arguments: str) -> subprocess.CompletedProcess:
    clean = {k: v for k, v in os.environ.items() if not k.startswith(("JAX_", "XLA_FLAGS"))}
    command = [sys.executable, *arguments] if arguments else [sys.executable, "-c", code]
    return subprocess.run(command, capture_output=True, text=True, cwd=ROOT, env=clean, timeout=300)


def test_a_sweep_and_the_laws_in_float32():
    done = python(
        textwrap.dedent(
            """
            import warnings
            import numpy as np
            import jaxopt_svm as js
            from tests import toy

            X, y = toy.matrix(200, 8)
            with warnings.catch_warnings(record=True) as caught:
                warnings.simplefilter("always")
                problem = js.make_erm(X, y)
            assert len(caught) == 1 and "jax_enable_x64" in str(caught[0].message), caught
            assert problem.c.dtype == np.float32
            warnings.simplefilter("error")
            problem = js.make_erm(X.astype(np.float32), y)
            grid = js.sweep(problem, js.lam_grid(1e-3, 1.0, 9))
            assert set(grid.status) == {"converged"}, grid.status
            assert np.all(grid.relative_gap <= 1e-3)
            exact = js.recertify(problem, grid)
            assert exact.gap.dtype == np.float64
            assert np.all(abs(exact.gap - grid.certificate.gap) <= grid.certificate.floor)
            assert js.predict(problem, grid, X).shape == (9, 200)
            some = {"sdca", "sdca-nice", "pegasos", "averaged", "optax-adam", "gradient"}
            for case in toy.table():
                if case.id in some:
                    one = js.solve(toy.padded32(case.loss), case.method, rtol=0.0, max_passes=20)
                    assert np.all(one.trace.gap >= -one.trace.floor), case.id
            print("fine")
            """
        )
    )
    assert done.returncode == 0, done.stderr
    assert done.stdout.strip() == "fine"


@pytest.mark.parametrize("flag", [[], ["--float32"]])
def test_the_demo_runs(tmp_path, flag):
    arguments = ["-m", "jaxopt_svm", "sweep", "--lams", "1e-2:1e0:4", "--holdout", "0.25"]
    plot = tmp_path / "demo.png"
    done = python("", *arguments, "--plot", str(plot), *flag)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("converged") >= 4
    assert plot.stat().st_size > 10_000

"""More than one device: laws on a mesh of four, and jobs of two processes with two devices each."""

import json
import os
import pathlib
import socket
import subprocess
import sys
import time

import numpy as np
import pytest

from jaxopt_svm.data.own_part import load_part
from jaxopt_svm.mesh.last_words import LOST
from jaxopt_svm.mesh.processes import start_processes

FOLDER = pathlib.Path(__file__).parent
SWEEP = ["-m", "jaxopt_svm", "sweep"]
SILENCE = 3  # seconds


def start(*words: str, devices: int | None = None) -> subprocess.Popen:
    env = {**os.environ, "JAX_ENABLE_X64": "1", "JAX_PLATFORMS": "cpu", "XLA_FLAGS": ""}
    env["PYTHONPATH"] = str(FOLDER.parent)  # the package beside the tests, whatever is installed
    if devices is None:
        env["JAX_DISABLE_MOST_OPTIMIZATIONS"] = "1"
    else:
        env["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={devices}"
    pipes = {"stdout": subprocess.PIPE, "stderr": subprocess.PIPE, "text": True}
    return subprocess.Popen([sys.executable, *words], env=env, cwd=FOLDER.parent, **pipes)


def free_port() -> int:
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return probe.getsockname()[1]


def start_job(*words: str) -> list[subprocess.Popen]:
    """The same command in two processes."""
    shared = ["--distributed", "--coordinator", f"127.0.0.1:{free_port()}", "--processes", "2"]
    shared += ["--devices", "2", "--silence", str(SILENCE)]
    return [start(*SWEEP, *words, *shared, "--process-id", str(k)) for k in (0, 1)]


def answer(process: subprocess.Popen) -> dict:
    out, err = process.communicate(timeout=120)
    assert process.returncode == 0, err[-3000:]
    return json.loads(out)


def test_laws_on_four_devices():
    """The same numbers as on one device; what is exchanged; what is refused."""
    done = start(str(FOLDER / "on_a_mesh.py"), devices=4)
    _, err = done.communicate(timeout=600)
    assert done.returncode == 0, err[-3000:]


@pytest.fixture(scope="module")
def svmlight(tmp_path_factory) -> pathlib.Path:
    """37 rows of uneven length, with a comment and a blank line; not a multiple of four."""
    rng = np.random.default_rng(0)
    lines = ["# label index:value", ""]
    for k in range(37):
        used = np.flatnonzero(rng.random(6) < 0.2 + 0.02 * k) + 1
        values = " ".join(f"{j}:{rng.normal():.4f}" for j in used)
        lines.append(f"{1 if rng.random() < 0.5 else -1} {values}")
    path = tmp_path_factory.mktemp("data") / "rows.svm"
    path.write_text("\n".join(lines) + "\n")
    return path


def test_two_processes_are_one_to_rounding(svmlight):
    """Every process reads its own rows; one process with as many devices gives the same numbers."""
    words = [str(svmlight), "--method", "disdca", "--lams", "0.03,0.3", "--rtol", "1e-9"]
    words += ["--max-passes", "4", "--json"]
    first, second = start_job(*words)
    alone = start(*SWEEP, *words, "--devices", "4")
    mine, theirs = answer(first), answer(alone)
    assert second.communicate(timeout=60)[0].strip() == "", "only the first process speaks"
    assert mine["data"]["rows"] == theirs["data"]["rows"] == 37
    assert mine["data"]["columns"] == theirs["data"]["columns"] == 6
    for a, b in zip(mine["lanes"], theirs["lanes"], strict=True):
        for name in ("primal", "dual", "train_error"):
            np.testing.assert_allclose(a[name], b[name], rtol=1e-12, err_msg=name)
        assert a["support_vectors"] == b["support_vectors"]


def test_a_death_is_noticed_and_the_checkpoint_goes_on_elsewhere(svmlight, tmp_path):
    """The others stop in bounded time with a clear last line; one device takes over."""
    file = tmp_path / "checkpoint.npz"
    words = [str(svmlight), "--method", "subgradient", "--lams", "0.03,0.3", "--rtol", "0"]
    endless = [*words, "--max-passes", "100000000", "--checkpoint", str(file)]
    survivor, victim = start_job(*endless)
    for _ in range(600):
        if file.exists() or survivor.poll() is not None:
            break
        time.sleep(0.1)
    assert file.exists(), survivor.communicate()[1][-3000:]
    victim.kill()
    victim.communicate()
    began = time.monotonic()
    _, err = survivor.communicate(timeout=60)
    assert survivor.returncode == LOST, err[-3000:]
    assert "another process of the job died" in err.splitlines()[-1]
    assert time.monotonic() - began < 10 * SILENCE, "noticed by its silence"
    with np.load(file) as stored:
        passes = int(stored["r"]) + 7
    rest = [*words, "--max-passes", str(passes), "--json"]
    resumed, whole = start(*SWEEP, *rest, "--checkpoint", str(file)), start(*SWEEP, *rest)
    for a, b in zip(answer(resumed)["lanes"], answer(whole)["lanes"], strict=True):
        assert a["passes"] == b["passes"] == passes
        np.testing.assert_allclose(a["primal"], b["primal"], rtol=1e-12)
        np.testing.assert_allclose(a["dual"], b["dual"], rtol=1e-12)


def test_bad_input_is_said_by_all_processes(svmlight):
    """A line that one process cannot read, and labels that do not fit together."""
    lines = svmlight.read_text().splitlines()
    bad = svmlight.with_name("bad.svm")
    bad.write_text("\n".join([*lines[:-1], "2 1:0.5"]) + "\n")
    for process in start_job(str(bad), "--max-passes", "1"):
        _, err = process.communicate(timeout=60)
        assert process.returncode == 2
        assert "needs exactly two labels; found 3" in err and "process 1 has" in err


def test_a_file_that_differs_between_processes_is_named(svmlight):
    """As if process 1 saw one byte more."""

    def agree(local):
        mine = local()
        return [mine, [mine[0] + 1]]

    with pytest.raises(ValueError, match=r"rows.svm: not the same on all processes: bytes are"):
        load_part(str(svmlight), 0, 2, agree, lambda n: slice(0, n))


@pytest.mark.parametrize(
    "given, message",
    [
        (("nowhere", 2, 0), "expected host:port"),
        (("127.0.0.1:9911", 2, 2), "expected 0 <= process < 2"),
        (("127.0.0.1:9911", 2, None), "give both, or neither"),
    ],
)
def test_a_job_that_cannot_start(given, message):
    with pytest.raises(ValueError, match=message):
        start_processes(*given)


def test_a_port_in_use():
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        with pytest.raises(ValueError, match="is the port in use"):
            start_processes(f"127.0.0.1:{taken.getsockname()[1]}", 2, 0)

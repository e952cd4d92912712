"""More than one device: laws on a mesh of four, and jobs of two processes."""

import os
import pathlib
import subprocess
import sys

FOLDER = pathlib.Path(__file__).parent


def environment(devices: int) -> dict[str, str]:
    env = {**os.environ, "JAX_ENABLE_X64": "1", "JAX_PLATFORMS": "cpu"}
    env["XLA_FLAGS"] = f"--xla_force_host_platform_device_count={devices}"
    env["PYTHONPATH"] = str(FOLDER.parent)  # the package beside the tests, whatever is installed
    return env


def test_laws_on_four_devices():
    """The same numbers as on one device; what is exchanged; what is refused."""
    done = subprocess.run(
        [sys.executable, str(FOLDER / "on_a_mesh.py")],
        env=environment(4),
        cwd=FOLDER.parent,
        capture_output=True,
        text=True,
    )
    assert done.returncode == 0, done.stderr[-3000:]

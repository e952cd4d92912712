"""Strict settings for every test: float64, no silent promotion, no silent broadcasting."""

import os
import pathlib
import sys

import jax
import jaxlib
import pytest

# Most of the tests' time is compilation, and XLA's plain emitters need less than half of it. What
# users run is checked too: make test-all and the tests that start a process of their own leave the
# choice to XLA. Flags are read at the first computation, and an unknown one ends the process:
# hence the version.
PLAIN_EMITTERS = "--xla_cpu_use_fusion_emitters=false --xla_cpu_parallel_codegen_split_count=1"
if jaxlib.__version__.startswith("0.10.") and "--run-full" not in sys.argv:
    os.environ["XLA_FLAGS"] = f"{PLAIN_EMITTERS} {os.environ.get('XLA_FLAGS', '')}".strip()

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")
# the command line keeps compiled programs on disk; in-process tests of it must not
jax.config.update("jax_enable_compilation_cache", False)

MAPS = pathlib.Path("/proc/self/maps")
MOST_MAPS = 20_000


def pytest_addoption(parser):
    parser.addoption("--run-full", action="store_true", help="run the full cross product too")


def pytest_collection_modifyitems(config, items):
    if config.getoption("--run-full"):
        return
    skip = pytest.mark.skip(reason="full cross product: make test-all")
    for item in items:
        if "full" in item.keywords:
            item.add_marker(skip)


@pytest.fixture(autouse=True)
def few_programs_at_a_time():
    """Every compiled program holds memory maps, and Linux grants a process 65,530 of them."""
    yield
    if MAPS.exists() and len(MAPS.read_bytes().splitlines()) > MOST_MAPS:
        jax.clear_caches()


@pytest.fixture
def quick_compilation():
    """For tests whose time is compilation, and whose claims hold for the plain program too."""
    jax.config.update("jax_disable_most_optimizations", True)
    yield
    jax.config.update("jax_disable_most_optimizations", False)

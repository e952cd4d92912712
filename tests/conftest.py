"""Strict settings for every test: float64, no silent promotion, no silent broadcasting."""

import jax
import pytest

jax.config.update("jax_enable_x64", True)
jax.config.update("jax_numpy_dtype_promotion", "strict")
jax.config.update("jax_numpy_rank_promotion", "raise")


def pytest_addoption(parser):
    parser.addoption("--run-full", action="store_true", help="run the full cross product too")


def pytest_collection_modifyitems(config, items):
    if config.getoption("--run-full"):
        return
    skip = pytest.mark.skip(reason="full cross product: make test-all")
    for item in items:
        if "full" in item.keywords:
            item.add_marker(skip)

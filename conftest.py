"""Number of processes and threads that run the tests."""

import os

import pytest

# Idle threads of torch must not use the cores that other processes of the tests need. OpenMP reads
# this when torch is imported.
os.environ.setdefault("OMP_WAIT_POLICY", "PASSIVE")


@pytest.hookimpl(tryfirst=True, optionalhook=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """All cores for the whole suite; this process if paths are named and ``-n`` is not given."""
    whole_suite = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    given = any(arg.startswith(("-n", "--numprocesses")) for arg in config.invocation_params.args)
    return None if whole_suite or given else 0

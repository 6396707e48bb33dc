"""How many processes run the tests."""

import pytest


@pytest.hookimpl(tryfirst=True)
def pytest_xdist_auto_num_workers(config: pytest.Config) -> int | None:
    """All cores for the whole suite; this process if paths are named and ``-n`` is not given."""
    whole_suite = config.args_source is pytest.Config.ArgsSource.TESTPATHS
    given = any(arg.startswith(("-n", "--numprocesses")) for arg in config.invocation_params.args)
    return None if whole_suite or given else 0

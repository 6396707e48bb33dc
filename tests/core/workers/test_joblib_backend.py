"""What is said when a worker process ends, whatever the others were doing."""

import pytest

from helpers.workers import Exits, Waits
from shaketable.core.errors import WorkerError
from shaketable.core.workers.joblib_backend import JoblibBackend


def test_a_worker_that_has_not_reported_yet_is_left_out(tmp_path):
    tasks = [Waits(tmp_path / "started"), Exits(tmp_path / "started")]
    with pytest.raises(WorkerError) as caught:
        list(JoblibBackend(None, 2).run(tasks))
    assert str(caught.value) == (
        "a worker process was killed or exited (EXIT(3)) while at work: counting beans; if memory "
        "ran out, use fewer processes (n_jobs=)"
    )

import subprocess
import sys

import pytest

from shaketable.core.workers.packing import list_gpus

TAKE = """
import os
from shaketable.core.workers.packing import take_gpu
print(take_gpu(), os.environ["CUDA_VISIBLE_DEVICES"], flush=True)
input()
"""


@pytest.mark.skipif(sys.platform == "win32", reason="locks of files are those of Unix")
def test_every_process_takes_a_gpu_of_its_own(monkeypatch, tmp_path):
    monkeypatch.setenv("TMPDIR", str(tmp_path))
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "5, 7")
    assert list_gpus() == ["5", "7"]

    def start():
        pipes = {"stdin": subprocess.PIPE, "stdout": subprocess.PIPE, "text": True}
        return subprocess.Popen([sys.executable, "-c", TAKE], **pipes)

    workers = [start() for _ in range(3)]
    lines = [worker.stdout.readline().split() for worker in workers]
    assert sorted(lines) == [["5", "5"], ["7", "7"], ["None", "5,", "7"]]
    for worker in workers:
        worker.kill()
        worker.communicate()
    freed = start()
    assert freed.communicate("\n")[0].split()[0] == "5", "locks end with their process"


def test_one_gpu_needs_no_choice(monkeypatch):
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "3")
    assert list_gpus() == ["3"]
    monkeypatch.setenv("CUDA_VISIBLE_DEVICES", "")
    assert list_gpus() == []

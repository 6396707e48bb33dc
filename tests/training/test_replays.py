"""Training on a CUDA device: recorded steps, against steps whose kernels start one by one."""

from dataclasses import replace

import numpy as np
import pytest

from shaketable import make_dataset
from shaketable.core.keys import row_keys
from shaketable.training.loop import Batch, Checkpoint, Trainer
from shaketable.training.recipes import make_recipe
from shaketable.training.regimes import RegimeStep, make_regime

torch = pytest.importorskip("torch", reason="torch is not installed")

from shaketable.models.networks.registry import build_network  # noqa: E402  (it needs torch)

pytestmark = pytest.mark.skipif(not torch.cuda.is_available(), reason="no CUDA device")

N = 1200
DATA = make_dataset(
    np.random.default_rng(0).integers(0, 256, (N, 32, 32, 3), dtype=np.uint8), np.arange(N) % 10
)
RECIPE = replace(
    make_recipe("fast", network="wrn(depth=10, width=1, dropout=0.3)", epochs=2, batch=128),
    rate=0.1,
)
REGIMES = ["clean", "C1", "mixup(0.2) + C2", "trivialaugment + linf(0.1)", "augmix"]


def make_trainer(regime, *, replays=True):
    made = make_regime(regime, DATA, DATA.bounds)
    rows, device = np.arange(1000), torch.device("cuda")
    step = RegimeStep.of(made, RECIPE, DATA, rows, DATA.bounds, device=device)
    network = build_network(RECIPE.network, shape=DATA.shape, classes=10, seed=3)
    return Trainer(network, DATA, rows, RECIPE, step, 3, device, replays=replays)


def weights(trainer):
    return torch.cat([w.detach().flatten() for w in trainer.module.state_dict().values()]).cpu()


@pytest.mark.parametrize("regime", REGIMES)
def test_recorded_steps_give_the_same_weights(regime):
    found = []
    for replays in (True, False):
        trainer = make_trainer(regime, replays=replays)
        trainer.run()
        found.append((weights(trainer), [replace(r, seconds=0.0) for r in trainer.curve]))
    assert torch.equal(found[0][0], found[1][0])
    assert found[0][1] == found[1][1]


def test_training_goes_on_from_a_checkpoint_to_the_same_weights(tmp_path):
    whole = make_trainer("C1")
    whole.run()
    checkpoint = Checkpoint(tmp_path / "state.pt", "this training", every=0.0)
    begun = make_trainer("C1")
    begun.step = _StopAfter(begun.step, 11)
    with pytest.raises(KeyboardInterrupt):
        begun.run(checkpoint)
    resumed = make_trainer("C1")
    resumed.run(checkpoint)
    assert torch.equal(weights(resumed), weights(whole))


class _StopAfter:
    """A step that is interrupted."""

    replayable = True

    def __init__(self, step, calls):
        self.step, self.left = step, calls
        self.compute = step.compute

    def change(self, network, batch):
        self.left -= 1
        if self.left < 0:
            raise KeyboardInterrupt
        return self.step.change(network, batch)


@pytest.mark.parametrize("regime", REGIMES)
@pytest.mark.filterwarnings("ignore:Synchronization debug mode")
def test_changing_a_batch_does_not_wait_for_the_device(regime):
    trainer = make_trainer(regime)
    x = torch.rand(100, 32, 32, 3, device="cuda")
    targets = torch.arange(100, device="cuda") % 10
    keys = row_keys(0, np.arange(100), np.arange(1))[:, 0]
    batch = Batch(x, targets, np.arange(100), keys, keys)
    trainer.step.change(trainer.module, batch)  # kernels are compiled and tables moved
    torch.cuda.set_sync_debug_mode("error")
    try:
        trainer.step.change(trainer.module, batch)
    finally:
        torch.cuda.set_sync_debug_mode("default")

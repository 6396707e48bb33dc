"""What pages say about data is what the data are."""

import numpy as np
import pytest

from shaketable.core.versions import list_versions
from shaketable.data.arrays import make_dataset
from shaketable.data.facts import MAX_NAMES, describe_data


def test_facts_are_those_of_the_data():
    x = np.arange(2 * 6 * 5, dtype=np.float32).reshape(10, 3, 2)
    data = make_dataset(x, ["a", "b"] * 5, name="ten", n_train=7)
    facts = describe_data(data)
    assert facts.pop("Written").startswith("20")
    assert facts.pop("Versions").split(", ") == sorted(
        f"{n} {v}" for n, v in list_versions().items()
    )
    assert facts == {
        "Data": "ten",
        "Fingerprint of the data": data.fingerprint,
        "Points": "10 (7 training, 3 test)",
        "Features of a point": "3 × 2",
        "Precision of the points": "float32",
        "Classes": "a, b",
    }
    assert describe_data(make_dataset(x, ["a", "b"] * 5))["Points"] == "10"


@pytest.mark.parametrize("more", [0, 1, 4])
def test_many_classes_are_counted(more):
    n = MAX_NAMES + more
    shown = describe_data(make_dataset(np.arange(2.0 * n)[:, None], [*range(n)] * 2))["Classes"]
    names, _, rest = shown.partition(" and ")
    assert names == ", ".join(map(str, range(MAX_NAMES)))
    assert rest == (f"{more} more" if more else "")

"""Files that run code when they are unpickled."""

import io
import os
import pickle
import zipfile
from pathlib import Path

import numpy as np


class Evil:
    """An object whose unpickling makes a folder."""

    def __init__(self, mark):
        self.mark = str(mark)

    def __reduce__(self):
        return os.mkdir, (self.mark,)


def make_contents(mark):
    """Contents of files that hold such an object, by the format that they are in."""
    contents = {f"pickle {p}": pickle.dumps(Evil(mark), protocol=p) for p in (0, 2, 4, 5)}
    things = np.array([Evil(mark), 1, 2], dtype=object)
    stream = io.BytesIO()
    np.save(stream, things, allow_pickle=True)
    contents["npy"] = stream.getvalue()
    stream = io.BytesIO()
    np.savez(stream, x=things, y=things)
    contents["npz"] = stream.getvalue()
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:  # as torch writes it
        archive.writestr("archive/data.pkl", pickle.dumps(Evil(mark), protocol=2))
        archive.writestr("archive/version", "3\n")
        archive.writestr("archive/byteorder", "little")
    contents["torch"] = stream.getvalue()
    return contents


def check_it_works(mark):
    """Make sure that the object does what it should if it is unpickled, and undo it."""
    pickle.loads(pickle.dumps(Evil(mark)))
    assert Path(mark).is_dir()
    Path(mark).rmdir()

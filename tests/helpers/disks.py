"""A disk that is full, or nearly so, or that changes what is on it."""

import resource
from contextlib import contextmanager
from pathlib import Path


@contextmanager
def limit_file_size(size):
    """Context in which no file can grow beyond `size` bytes, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))


def flip_bit(path, content, at=0):
    """Change one bit of a part of a file, which has this content."""
    path = Path(path)
    file = bytearray(path.read_bytes())
    file[file.index(content) + at] ^= 1
    path.write_bytes(file)

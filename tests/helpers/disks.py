"""A disk that is full, or nearly so."""

import resource
from contextlib import contextmanager


@contextmanager
def limit_file_size(size):
    """Context in which no file can grow beyond `size` bytes, as on a full disk."""
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    resource.setrlimit(resource.RLIMIT_FSIZE, (size, hard))
    try:
        yield
    finally:
        resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))

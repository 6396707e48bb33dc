"""Registrations: requirements that a results file keeps, with the time at which they were set.

A registration is a record, not a proof: whoever can write the file, or set the clock of the
machine, can change it.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from hashlib import sha256


@dataclass(frozen=True, kw_only=True)
class Registration:
    """A file of requirements as it was when it was registered."""

    number: int
    """1 for the first in a results file; the last one counts."""
    text: str
    """All that the file says, comments too."""
    sha256: str
    """Hash of the file, as ``sha256sum`` prints it."""
    created: str


def make_registration(number: int, text: str, created: str = "") -> Registration:
    """Return the registration of a text, by default of now.

    >>> make_registration(1, "require = 'mscr >= -1'").sha256[:8]
    'e94472d8'
    """
    return Registration(
        number=number,
        text=text,
        sha256=sha256(text.encode()).hexdigest(),
        created=created or datetime.now(UTC).isoformat(timespec="seconds"),
    )

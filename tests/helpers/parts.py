"""A place for parts of long work that stops after some of them."""


class StoppedError(Exception):
    """The work was stopped."""


class StoppingParts(dict):
    """Keep so many parts, then stop the work, as a crash would."""

    def __init__(self, left):
        super().__init__()
        self.left = left

    def part(self, key):
        return self.get(key)

    def add_part(self, key, content):
        if not self.left:
            raise StoppedError
        self.left -= 1
        self[key] = content

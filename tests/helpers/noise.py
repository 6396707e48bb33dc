"""A corruption in a module that worker processes can import, as they cannot import all tests."""

import shaketable as st


@st.corruption
def shrink(x, rng, *, strength):
    """Multiply every value by a random number below 1."""
    return x * (1 - strength * rng.random(x.shape))

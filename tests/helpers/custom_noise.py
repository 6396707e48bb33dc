"""A corruption in a module that worker processes can import, too."""

import shaketable as st


@st.corruption
def stretch(x, rng, *, strength):
    """Multiply every value by a random number near 1."""
    return x * (1 + strength * (rng.random(x.shape) - 0.5))

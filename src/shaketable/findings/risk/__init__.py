"""Risk: the probability of a wrong answer under every corruption that was evaluated."""

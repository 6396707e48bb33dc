"""The inputs that flip: points that are right when clean and wrong under a corruption."""

"""The former home of `shaping.apps`; gone with 0.3."""

from shaping.testing import validated_envelopes

__all__ = ["validated_envelopes"]

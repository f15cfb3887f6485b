"""A plugin's manifest, as a package outside this repository would write it."""

error_codes = {
    "NOTARIZATION_FAILED": {"http": 502, "retryable": False, "hint": "Look at the notary's log."},
    "QUEUE_FULL": {"http": 503, "retryable": True, "hint": "Wait, then submit again.", "exit_code": 79},
}

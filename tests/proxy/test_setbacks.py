from __future__ import annotations

from shaping.proxy.former.setbacks import Setbacks


def test_a_server_that_fails_all_night_is_left_alone_for_half_a_minute_each_time() -> None:
    setbacks = Setbacks()
    for _ in range(3000):
        setbacks.count(0.1)
    assert 0 < setbacks.wait() <= 30


def test_the_first_setback_and_one_after_a_long_life_are_tried_again_at_once() -> None:
    setbacks = Setbacks()
    setbacks.count(0.1)
    assert setbacks.wait() == 0
    for _ in range(9):
        setbacks.count(0.1)
    setbacks.count(60)
    assert setbacks.wait() == 0

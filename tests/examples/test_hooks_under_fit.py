"""The example's hooks see the same losses both ways, and stop both at the same step."""

import numpy as np

from examples import hooks_under_fit


def test_both_ways_show_the_hooks_the_same_losses(capsys):
    first, second = hooks_under_fit.main(steps=12)
    assert len(first) == 12
    np.testing.assert_allclose(first, second, rtol=1e-5)
    assert first[0] == np.float32(np.log(5))  # zero weights: five languages, equally likely
    assert capsys.readouterr().err.count("12 steps") == 2

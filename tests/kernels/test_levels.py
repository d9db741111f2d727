"""The choice of the CPU level."""

import pytest

from lshfast import kernels


def test_a_level_is_used_for_the_length_of_a_with_statement():
    before = kernels.level()
    for name in kernels.available():
        with kernels.use(name):
            assert kernels.level() == name
            with kernels.use("scalar"):
                assert kernels.level() == "scalar"
            assert kernels.level() == name
    assert kernels.level() == before == kernels.available()[-1]


def test_a_level_that_this_machine_lacks_is_refused():
    before = kernels.level()
    with pytest.raises(
        ValueError, match=r"must be one of scalar.* here, not 'avx1024'"
    ):
        kernels.use("avx1024")
    assert kernels.level() == before

import numpy as np
from numpy.testing import assert_array_equal

from gflownet_envs.random_streams import (
    MemberStream,
    Purpose,
    UniformChunks,
    member_streams,
)
from tests.shared import refuses


def test_numbers_do_not_depend_on_the_chunks_nor_on_the_other_members():
    together = UniformChunks(member_streams(0, (3, 17, 4, 17)), shape=(2, 3), chunk=64)
    alone = UniformChunks(member_streams(0, (17,)), shape=(2, 3), chunk=5)
    for _ in range(70):
        drawn = together.next()
        assert_array_equal(drawn[1], alone.next()[0])
        assert_array_equal(drawn[1], drawn[3])


def test_members_seeds_and_purposes_differ():
    streams = [MemberStream(0, 0), MemberStream(0, 1), MemberStream(1, 0)]
    draws = [s.generator(p).random() for s in streams for p in Purpose]
    assert len(set(draws)) == len(streams) * len(Purpose)


def test_uniforms_stay_below_one_in_float32():
    uniforms = UniformChunks(member_streams(0, (0,)), shape=(1000,)).next()
    assert uniforms.astype(np.float32).max() < 1
    assert uniforms.min() >= 0


def test_numbers_out_of_range():
    for seed, member in ((-1, 0), (0, -1), (2**64, 0)):
        refuses(r"must be in \[0, 2\*\*64\)", MemberStream, seed, member)

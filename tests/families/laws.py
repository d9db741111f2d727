"""What tests of families share: the statistics of collisions, and the round trip of a description."""

import json

import numpy as np

from lshfast.families import family_of


def check_law(family, a, b, count):
    """Check, within four standard errors, that each pair collides under functions as often as its distance says.

    The functions are independent, or negatively correlated, so that the shares vary less.
    """
    shares = family.collide(a, b, count).mean(axis=1)
    expected = family.collision_probability(family.distance(a, b))
    assert ((expected >= 0) & (expected <= 1)).all()
    assert (
        np.abs(shares - expected)
        <= 4 * np.sqrt(expected * (1 - expected) / count) + 1e-12
    ).all(), (
        shares,
        expected,
    )


def check_description(family):
    """Check that a family can be made again from its description, and return the description."""
    description = family.describe()
    assert family_of(description) == family
    assert json.loads(description)["family"] == family.name
    return description

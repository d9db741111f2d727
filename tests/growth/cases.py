"""The table of cases: worst inputs that an author of rows can write, for each verb and each index.

A case is a function of a size. It makes the rows, and returns the work, which returns the counters that
results have, if any, and "output": how much it reports.
"""

from typing import NamedTuple


class Case(NamedTuple):
    """A worst input of a verb.

    Attributes
    ----------
    verb : str
        The command, function or class.
    work_on : callable
        From the size to the work.
    size : int
        The smallest size.
    documented : str
        The page that says why some counters grow like the square; "" without such.
    unbounded : tuple of str
        These counters.
    is_weekly : bool
        Whether the case takes some seconds.
    """

    verb: str
    work_on: object
    size: int
    documented: str = ""
    unbounded: tuple = ()
    is_weekly: bool = False


CASES = {}


def case(verb, size, documented="", unbounded=(), is_weekly=False):
    """Declare a case; its name is the name of the function."""

    def declare(work_on):
        name = work_on.__name__
        if name in CASES:
            raise ValueError(f"two cases are named {name}")
        CASES[name] = Case(verb, work_on, size, documented, unbounded, is_weekly)
        return work_on

    return declare

"""All cases: the modules that declare them are imported."""

from tests.growth import applications, files, indexes, texts  # noqa: F401  they declare cases
from tests.growth.cases import CASES as CASES

from typing import Final

__test__: dict[str, str]

FUNCTIONS: Final[tuple[tuple[str, str], ...]]
TABLE: Final[object]

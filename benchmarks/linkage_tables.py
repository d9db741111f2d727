"""Generated tables."""

from collections.abc import Callable
from typing import Any

Table = dict[str, list[str]]
GENERATED: dict[str, Callable[[], tuple[Table, Table | None, Any]]] = {}

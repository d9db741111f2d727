from typing import Final

from typing_extensions import CapsuleType

MEASURES: Final[tuple[str, ...]]
LAYOUTS: Final[tuple[str, ...]]
__pyx_capi__: dict[str, CapsuleType]
__test__: dict[str, str]

"""The figures of a check as values of JSON."""

from __future__ import annotations

import json
from dataclasses import fields, is_dataclass
from math import isnan
from typing import Any

from lshfast._common.visible import visible
from lshfast._engine.account.display import Account


def figures_as_dict(account: Account) -> dict[str, Any]:
    """Return all figures of an account as values of JSON; numbers that are not known are None."""
    values = {each.name: getattr(account, each.name) for each in fields(account)}
    plain: dict[str, Any] = _plain(
        values | {"stages": values.pop("stages")}
    )  # the stages last
    return plain


def figures_as_json(account: Account) -> str:
    """Return all figures of an account as JSON."""
    return json.dumps(figures_as_dict(account), indent=2, ensure_ascii=False) + "\n"


def _plain(value: Any) -> Any:
    if isinstance(value, float):
        return None if isnan(value) else value
    if is_dataclass(value):
        return {each.name: _plain(getattr(value, each.name)) for each in fields(value)}
    if isinstance(value, dict):
        return {name: _plain(each) for name, each in value.items()}
    if isinstance(value, (tuple, list)):
        return [_plain(each) for each in value]
    return (
        value if value is None or isinstance(value, (int, str)) else visible(str(value))
    )

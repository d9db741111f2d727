"""Blocking rules as strings, as the command line has them."""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from lshfast.records.candidates.nearest import NearestBlocks
from lshfast.records.candidates.rules import EveryPair, KeyBlocks, LshBlocks, SortBlocks
from lshfast.records.choices import MAX_BLOCK, NEIGHBORS
from lshfast.records.linkage import BlockingRule

_OPTIONS = {
    "key": (),
    "sort": ("window",),
    "lsh": ("threshold", "size", "recall", "num_perm"),
    "nearest": ("neighbors",),
}
_FORMS = (
    "all, nearest, nearest:FIELD+FIELD:neighbors=N, key:FIELD+FIELD, sort:FIELD:window=N or "
    "lsh:FIELD+FIELD:threshold=S:size=N"
)


def parse_rule(text: str, max_block: int = MAX_BLOCK) -> BlockingRule:
    """Return the blocking rule of a string.

    Parameters
    ----------
    text : str
        ``all``, ``nearest``, ``nearest:FIELD+FIELD:neighbors=N``, ``key:FIELD+FIELD``,
        ``sort:FIELD:window=N`` or ``lsh:FIELD+FIELD:threshold=S:size=N:recall=R:num_perm=N``; all
        options may be left out.
    max_block : int
        The largest number of pairs of a block.

    Raises
    ------
    TypeError
        If it is not a string.
    ValueError
        If the string is no rule, or a value is out of range.

    See Also
    --------
    lshfast.records.match_records : Link the records of two tables.

    Examples
    --------
    >>> parse_rule("key:surname+postcode").name
    'key:surname+postcode'
    >>> parse_rule("lsh:title:threshold=0.4").name
    'lsh:title:threshold=0.4'
    """
    if not isinstance(text, str):
        raise TypeError(f"a blocking rule must be {_FORMS}, not {text!r}")
    if text in ("all", "nearest"):
        return EveryPair() if text == "all" else NearestBlocks(max_block=max_block)
    kind, _, arguments = text.partition(":")
    names, *option_texts = arguments.split(":")
    fields = names.split("+")
    if kind not in _OPTIONS or not all(fields):
        raise ValueError(f"a blocking rule must be {_FORMS}, not {text!r}")
    options = _options_of(text, kind, option_texts)
    if kind == "key":
        return KeyBlocks(*fields, max_block=max_block)
    if kind == "lsh":
        return LshBlocks(*fields, max_block=max_block, **options)
    if kind == "nearest":
        return NearestBlocks(
            *fields, max_block=max_block, **{"neighbors": NEIGHBORS, **options}
        )
    if len(fields) > 1:
        raise ValueError(f"rule {text!r}: a sort rule has one field")
    return SortBlocks(fields[0], options.get("window", 5))


def _options_of(rule: str, kind: str, texts: Iterable[str]) -> dict[str, Any]:
    """Return the options of a rule by name: floats for shares, otherwise integers."""
    options: dict[str, Any] = {}
    for text in texts:
        name, sign, value = text.partition("=")
        if name not in _OPTIONS[kind] or not sign:
            names = ", ".join(_OPTIONS[kind]) or "none"
            raise ValueError(
                f"rule {rule!r}: no option {text!r}; options of {kind} rules are: {names}"
            )
        try:
            options[name] = (
                float(value) if name in ("threshold", "recall") else int(value)
            )
        except ValueError:
            raise ValueError(
                f"rule {rule!r}: {name} must be a number, not {value!r}"
            ) from None
    return options


def named_fields(rules: Iterable[BlockingRule]) -> set[str]:
    """Return the fields that rules name.

    Examples
    --------
    >>> sorted(
    ...     named_fields(
    ...         [
    ...             parse_rule("key:surname+postcode"),
    ...             parse_rule("sort:born"),
    ...             parse_rule("all"),
    ...         ]
    ...     )
    ... )
    ['born', 'postcode', 'surname']
    """
    names: set[Any] = set()
    for rule in rules:
        names.update(getattr(rule, "keys", ()))
        names.update(getattr(rule, "fields", ()))
        names.add(getattr(rule, "field", None))
    return {name for name in names if isinstance(name, str)}


def checked_rules(rules: Iterable[Any]) -> list[BlockingRule]:
    """Return a list of rules, some of which are strings; raise TypeError for anything else."""
    if isinstance(rules, str) or not isinstance(rules, Iterable):
        raise TypeError("rules must be a list of blocking rules, not one rule")
    checked = [parse_rule(rule) if isinstance(rule, str) else rule for rule in rules]
    for rule in checked:
        if not callable(getattr(rule, "pairs", None)) or not hasattr(rule, "name"):
            raise TypeError(f"rules must be blocking rules or strings, not {rule!r}")
    return checked

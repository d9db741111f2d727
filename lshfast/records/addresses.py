"""Addresses of the United States as parts, by usaddress, which learnt them from labelled
addresses.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from threading import Lock

from lshfast._common.extras import optional
from lshfast.records.fields import Field, Kind
from lshfast.records.forms import latin_texts
from lshfast.records.phones import EXTRA
from lshfast.records.tables import RecordTable, as_text, encoded
from lshfast.records.values import LONG, normal_form

# The parts of an address and how they are compared, and the part of each label of usaddress. Words
# with other labels, such as the name of a building or of a person, belong to the street.
PARTS: Mapping[str, Kind] = {
    "number": "code",
    "street": "text",
    "unit": "code",
    "city": "name",
    "state": "category",
    "zip": "code",
}
LABELS: Mapping[str, str] = {
    "AddressNumberPrefix": "number",
    "AddressNumber": "number",
    "AddressNumberSuffix": "number",
    "OccupancyType": "",
    "OccupancyIdentifier": "unit",
    "SubaddressType": "",
    "SubaddressIdentifier": "unit",
    "PlaceName": "city",
    "StateName": "state",
    "ZipCode": "zip",
    "ZipPlus4": "",
    "CountryName": "",
    "NotAddress": "",
}
_STATES = """
AL alabama; AK alaska; AZ arizona; AR arkansas; CA california; CO colorado; CT connecticut;
DE delaware; DC district of columbia; FL florida; GA georgia; HI hawaii; ID idaho; IL illinois;
IN indiana; IA iowa; KS kansas; KY kentucky; LA louisiana; ME maine; MD maryland; MA massachusetts;
MI michigan; MN minnesota; MS mississippi; MO missouri; MT montana; NE nebraska; NV nevada;
NH new hampshire; NJ new jersey; NM new mexico; NY new york; NC north carolina; ND north dakota;
OH ohio; OK oklahoma; OR oregon; PA pennsylvania; PR puerto rico; RI rhode island;
SC south carolina; SD south dakota; TN tennessee; TX texas; UT utah; VT vermont; VA virginia;
WA washington; WV west virginia; WI wisconsin; WY wyoming
"""
STATES: Mapping[str, str] = {
    line.split(maxsplit=1)[1].strip(): line.split()[0] for line in _STATES.split(";")
}
# The tagger of usaddress is one for the process, and holds the address that it reads.
_LOCK = Lock()


def address_parts(text: str) -> dict[str, str]:
    """Return the parts of an address that it has, of: number, street, unit, city, state, zip.

    The words for units, such as apartment, and the four digits after a hyphen of a ZIP code are
    left out. States are written with two letters. Text of more than 1,000 characters is a street as
    a whole.

    Raises
    ------
    ImportError
        If usaddress is not installed.

    Examples
    --------
    >>> from lshfast.records.addresses import address_parts
    >>> address_parts("12 W. Main St., Apt. 3, Springfield, IL 62701-1234")
    {'number': '12', 'street': 'W. Main St.', 'unit': '3', 'city': 'Springfield', 'state': 'IL',
    'zip': '62701'}
    """
    parser = optional("usaddress", EXTRA)
    if len(text) > LONG:
        return {"street": text}
    with _LOCK:
        # It fails on lone surrogates.
        labelled = parser.parse(text.encode("utf-8", "replace").decode())
    found: dict[str, list[str]] = {}
    for word, label in labelled:
        part = LABELS.get(label, "street")
        if part:
            found.setdefault(part, []).append(
                word.split("-")[0] if part == "zip" else word.strip(",;#()")
            )
    parts = {part: " ".join(filter(None, found[part])) for part in PARTS if part in found}
    if "state" in parts:
        parts["state"] = STATES.get(normal_form(parts["state"]), parts["state"])
    return {part: words for part, words in parts.items() if words}


def with_address_parts(
    a: RecordTable, b: RecordTable | None, fields: Sequence[Field]
) -> tuple[RecordTable, RecordTable | None, list[Field]]:
    """Return tables with columns for the parts of addresses, and fields with these parts in place
    of addresses.

    A field ``home`` becomes ``home.number``, ``home.street`` and so on, those of which an address
    has a value. They share its points.

    Raises
    ------
    ImportError
        If there is an address and usaddress is not installed.
    ValueError
        If a table has a column of the name of a part.
    """
    chosen: list[Field] = []
    for field in fields:
        if field.kind != "address":
            chosen.append(field)
            continue
        tables = [a] if b is None else [a, b]
        codes, raw = encoded(
            table.column(field.column_of(side)) for side, table in enumerate(tables)
        )
        texts = list(map(as_text, raw))
        parts = list(map(address_parts, latin_texts(texts) if field.latin else texts))
        names = [part for part in PARTS if any(part in own for own in parts)] or ["street"]
        added = []
        for table, own in zip(tables, codes, strict=True):
            columns = {
                f"{field.name}.{part}": [
                    None if code < 0 else parts[code].get(part) for code in own.tolist()
                ]
                for part in names
            }
            added.append(table.with_columns(columns))
        a = added[0]
        b = None if b is None else added[1]
        chosen += [
            replace(
                field,
                name=f"{field.name}.{part}",
                other=None,
                kind=PARTS[part],
                points=field.points / len(names),
            )
            for part in names
        ]
    return a, b, chosen

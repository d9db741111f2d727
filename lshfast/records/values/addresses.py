"""Addresses of the United States as parts, by usaddress, which learnt from labelled addresses."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from threading import Lock

from lshfast._common.extras import optional
from lshfast.records.tables.distinct_values import as_text, encoded
from lshfast.records.tables.fields import Field, Kind
from lshfast.records.tables.record_table import RecordTable, field_columns
from lshfast.records.values.forms import latin_texts
from lshfast.records.values.phones import EXTRA
from lshfast.records.values.strings import LONG, normal_form

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
    >>> from lshfast.records.values.addresses import address_parts
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
    words_of: dict[str, list[str]] = {}
    for word, label in labelled:
        part = LABELS.get(label, "street")
        if part:
            plain_word = word.split("-")[0] if part == "zip" else word.strip(",;#()")
            words_of.setdefault(part, []).append(plain_word)
    parts = {
        part: " ".join(filter(None, words_of[part]))
        for part in PARTS
        if part in words_of
    }
    if "state" in parts:
        parts["state"] = STATES.get(normal_form(parts["state"]), parts["state"])
    return {part: words for part, words in parts.items() if words}


def with_address_parts(
    tables: Sequence[RecordTable], fields: Sequence[Field]
) -> tuple[Sequence[RecordTable], list[Field]]:
    """Return tables with columns for the parts of addresses, and fields of these parts instead.

    A field ``home`` becomes ``home.number``, ``home.street`` and so on, for the parts that occur.
    They share its points. ImportError without usaddress; ValueError if a column exists.
    """
    fields_with_parts: list[Field] = []
    for field in fields:
        if field.kind != "address":
            fields_with_parts.append(field)
            continue
        tables, names = _split_addresses(tables, field)
        for part in names:
            part_field = replace(
                field,
                name=f"{field.name}.{part}",
                other=None,
                kind=PARTS[part],
                points=field.points / len(names),
            )
            fields_with_parts.append(part_field)
    return tables, fields_with_parts


def _split_addresses(
    tables: Sequence[RecordTable], field: Field
) -> tuple[list[RecordTable], list[str]]:
    """Return tables with columns for the parts of a field, and the parts that occur."""
    codes, values = encoded(field_columns(field, tables))
    texts = list(map(as_text, values))
    addresses = list(map(address_parts, latin_texts(texts) if field.latin else texts))
    occurring = set[str]().union(*addresses)
    names = [part for part in PARTS if part in occurring] or ["street"]
    split_tables = []
    for table, codes_of_table in zip(tables, codes, strict=True):
        column_codes = codes_of_table.tolist()
        split = {
            f"{field.name}.{part}": [
                None if code < 0 else addresses[code].get(part) for code in column_codes
            ]
            for part in names
        }
        split_tables.append(table.with_columns(split))
    return split_tables, names

"""Record sketches, similarities and ANI of sourmash and Mash for some sequences as golden.json.

    python -m tests.genomes.make_golden SOURMASH_PYTHON MASH

SOURMASH_PYTHON is a Python in which sourmash is installed; MASH is the program.
"""

import csv
import json
import random
import subprocess
import sys
import tempfile
from pathlib import Path

GOLDEN = Path(__file__).with_name("golden.json")
KS, SCALED, MASH_KS, MASH_SIZE = (15, 21, 31, 51), 50, (21, 31), 100
LETTERS = 6000


def sequences():
    """Return named sequences: similar ones, one in lower case, the reverse complement of a part, one with N."""
    rng = random.Random(11)
    base = "".join(rng.choices("ACGT", k=LETTERS))

    def mutated(rate):
        return "".join(
            rng.choice("ACGT") if rng.random() < rate else letter for letter in base
        )

    complement = base[1000:4000][::-1].translate(str.maketrans("ACGT", "TGCA"))
    near = mutated(0.02)
    return {
        "base": base,
        "near": near,
        "far": mutated(0.08).lower(),
        "part": complement,
        "broken": "".join(
            "N" if at % 97 == 50 else "R" if at % 501 == 7 else c
            for at, c in enumerate(near)
        ),
        "other": "".join(rng.choices("ACGT", k=LETTERS // 2)),
    }


SOURMASH = """
import importlib.metadata, json, sys
import sourmash
given = json.load(sys.stdin)
found = {"version": importlib.metadata.version("sourmash"), "sketches": {}, "pairs": {}}
for k in given["ks"]:
    sketches = {}
    for name, sequence in given["sequences"].items():
        sketches[name] = sourmash.MinHash(0, k, scaled=given["scaled"])
        sketches[name].add_sequence(sequence, force=True)
    found["sketches"][k] = {name: sorted(sketch.hashes) for name, sketch in sketches.items()}
    found["pairs"][k] = []
    for i, a in enumerate(sketches):
        for b in list(sketches)[i + 1 :]:
            one, other = sketches[a], sketches[b]
            ani = one.max_containment_ani(other, estimate_ci=True)
            found["pairs"][k].append([
                a, b, one.count_common(other), one.jaccard(other), one.contained_by(other), other.contained_by(one),
                1 - ani.dist, None if ani.dist_high is None else 1 - ani.dist_high,
                None if ani.dist_low is None else 1 - ani.dist_low,
            ])
sketch = sourmash.MinHash(0, 21, scaled=given["scaled"])
sketch.add_sequence(given["sequences"]["base"], force=True)
from sourmash.signature import SourmashSignature, save_signatures_to_json
found["signature"] = save_signatures_to_json([SourmashSignature(sketch, name="base", filename="base.fa")]).decode()
json.dump(found, sys.stdout)
"""


def distances_of_mash(mash, folder):
    """Return the pairs with common hashes, as (a, b, distance, shared, all), for each k."""
    for name, sequence in sequences().items():
        (folder / name).write_text(f">{name}\n{sequence}\n")
    found = {}
    for k in MASH_KS:
        made = folder / f"k{k}.msh"
        sketch = [
            mash,
            "sketch",
            "-k",
            str(k),
            "-s",
            str(MASH_SIZE),
            "-o",
            made,
            *sequences(),
        ]
        subprocess.run(sketch, cwd=folder, check=True, capture_output=True)
        lines = subprocess.run(
            [mash, "dist", made, made],
            cwd=folder,
            check=True,
            capture_output=True,
            text=True,
        )
        rows = [
            row
            for row in csv.reader(lines.stdout.splitlines(), delimiter="\t")
            if row[0] < row[1]
        ]
        found[k] = [
            [a, b, float(distance), *map(int, shared.split("/"))]
            for a, b, distance, _, shared in rows
        ]
    version = subprocess.run(
        [mash, "--version"], check=True, capture_output=True, text=True
    ).stdout.strip()
    return {"version": version, "pairs": found}


def main(python, mash):
    given = json.dumps({"ks": KS, "scaled": SCALED, "sequences": sequences()})
    made = subprocess.run(
        [python, "-c", SOURMASH],
        input=given,
        check=True,
        capture_output=True,
        text=True,
    )
    with tempfile.TemporaryDirectory() as folder:
        golden = {
            "sourmash": json.loads(made.stdout),
            "mash": distances_of_mash(mash, Path(folder)),
        }
    GOLDEN.write_text(json.dumps(golden, separators=(",", ":")) + "\n")


if __name__ == "__main__":
    main(*sys.argv[1:])

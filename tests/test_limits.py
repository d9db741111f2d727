"""Tests give limits, such as sizes of pieces, as arguments; those that would pass many layers are replaced."""

import ast
from pathlib import Path

TESTS = Path(__file__).parent

# The constants that tests replace, by the module of the tests: those that public functions use,
# several calls below. Give a new limit as an argument with a default, or as a field of a frozen
# dataclass, as `JoinSizes` and `WalkLimits`.
REPLACED = {
    "cli/test_images.py": "MOST_GROUPS MOST_LEAST_ALIKE MOST_OF_GROUP MOST_THUMBNAILS",
    "datasketch/test_forest.py": "BATCH",
    "datasketch/test_minhash.py": "BATCH",
    "engine/executors/test_capped.py": "BENCH_ROWS COSTS MOST_FILES MOST_GROWTH MOST_HELD MOST_UNLIKE SCREENED",
    "engine/executors/test_capped_resumed.py": "COSTS END_BYTES PIECE_BYTES",
    "engine/test_against.py": "BATCH_ROWS",
    "engine/test_common_shingles.py": "TABLE_BITS",
    "engine/test_exact.py": "BATCH_PAIRS",
    "engine/test_earlier_texts.py": "LEAST_JOINED MOST_JOINED_TOKENS",
    "engine/test_exact_keys.py": "PENDING_BYTES PENDING_KEYS",
    "engine/test_memory.py": "BATCH_PAIRS",
    "engine/test_samples.py": "OF_ROOT PLACES PLACE_BYTES",
    "engine/test_screened_rows.py": "SCREENED_ROWS",
    "engine/test_short_crowds.py": "LEAST_SHARE MOST_PAIRS SHORT_TOKENS",
    "families/test_lines.py": "KEPT_PROBABILITIES PIECE_PRODUCTS",
    "families/test_sets.py": "PIECE_TOKENS",
    "families/test_vectors.py": "KEPT_COORDINATES",
    "images/test_decoding.py": "LARGE_PIXELS",
    "images/test_groups.py": "BATCH LEAST_ROWS MOST_ANSWERS",
    "index/hamming_codes.py": "LEAST_GAIN TAIL_ROWS",
    "index/test_arrays.py": "BLOCK_BYTES",
    "index/test_ensemble.py": "RATIO UNSORTED_ROWS",
    "index/test_files.py": "OPEN_FILES_STAY",
    "index/test_forest.py": "RATIO UNSORTED_ROWS",
    "index/test_hamming_pairs.py": "CROWD LEAST_BATCH",
    "index/test_lmdb_store.py": "MOST_BYTES",
    "index/test_lsh_index.py": "ROOM",
    "index/test_memory.py": "BLOCK_BYTES",
    "index/test_redis_store.py": "MOST_ANSWER MOST_BYTES",
    "index/test_search.py": "ROOM",
    "index/test_tanimoto.py": "PIECE_QUERIES TAIL_ROWS",
    "io/test_bounded.py": "BLOCK_ROWS",
    "io/test_documents.py": "MOST_PARTS MOST_TAG PIECE_BYTES",
    "io/test_remote_output.py": "_OBJECT_STORES",
    "io/test_stored_texts.py": "COPIED_BYTES GAP_BYTES READ_BYTES",
    "items/test_weighted.py": "BLOCK_ELEMENTS",
    "join/test_exact_pairs.py": "PIECE_PAIRS TABLE",
    "join/test_grouping.py": "MOST_PAIRS",
    "join/test_identical.py": "PIECE_BYTES PIECE_ITEMS",
    "join/test_join.py": "PIECE",
    "kernels/test_tables.py": "BLOCK_BYTES",
    "passages/test_find.py": "MOST_PAIRS MOST_WINDOWS PIECE_BYTES",
    "quality/test_other_shingles.py": "MOST_PAIRS",
    "records/test_keys.py": "MOST_SORTED SAMPLE_PAIRS SAMPLE_VALUES",
    "records/test_nearest.py": "PIECE_TEXTS PRODUCTS PRODUCTS_A_TEXT",
    "records/test_prior.py": "COMPARE_ALL_SINGLE",
    "records/test_reach.py": "MOST_ROWS_BY_FIELD",
    "run_fixtures.py": "BENCH_ROWS BLOCK_BYTES COSTS DRAWS",
    "sketch/test_cardinality.py": "PIECE_TOKENS UPDATE_TOKENS",
    "spark/test_checked_sample.py": "LEAST_SAMPLE MOST_CROWD MOST_NEAR MOST_PAIRS",
    "spark/test_records.py": "PAIRS_AT_ONCE",
    "spark/test_tasks.py": "BATCH_PAIRS PAIRS_OF_PART",
    "spark/test_workers.py": "_CHECKED_APPLICATIONS",
    "stages/test_file_parts.py": "SHARD_BYTES",
    "stages/test_memory.py": "BLOCK_RECORDS MOST_OPEN PIECE_RECORDS UNION_BYTES",
    "stages/test_run_all.py": "_PROGRAM",
    "stages/test_tasks.py": "BLOCK_RECORDS",
    "test_fingerprints.py": "PIECE_PAIRS PIECE_VALUES",
    "web/test_mirrors.py": "BATCH_URLS",
}


def replaced(path):
    """Return the names in capitals that a module of tests replaces."""
    found, text = set(), path.read_text(encoding="utf-8")
    for node in ast.walk(ast.parse(text)) if "setattr" in text else ():
        if (
            isinstance(node, ast.Call)
            and isinstance(node.func, ast.Attribute)
            and node.func.attr == "setattr"
        ):
            for argument in node.args[:2]:
                if isinstance(argument, ast.Constant) and isinstance(
                    argument.value, str
                ):
                    name = argument.value.rpartition(".")[2]
                elif isinstance(argument, ast.JoinedStr) and isinstance(
                    argument.values[-1], ast.Constant
                ):
                    name = argument.values[-1].value.rpartition(".")[2]
                else:
                    continue
                if name.isupper():
                    found.add(name)
    return found


def test_no_more_constants_are_replaced():
    found = {
        path.relative_to(TESTS).as_posix(): replaced(path)
        for path in sorted(TESTS.rglob("*.py"))
    }
    assert {
        path: " ".join(sorted(names)) for path, names in found.items() if names
    } == REPLACED

"""What each kind of items can do for a run."""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, ClassVar, Literal, NamedTuple

from lshfast._common.choices import Kind, plural
from lshfast._common.progress import Progress
from lshfast._common.types import UInt64Array
from lshfast._engine.clock import Clock
from lshfast._engine.pairs.listed import PairArray

if TYPE_CHECKING:
    from lshfast._engine.account.crowds import Limited
    from lshfast._engine.account.normal_forms import FormSample
    from lshfast._engine.frame import Job
    from lshfast._engine.indexes.run_indexes import Indexes
    from lshfast._engine.inputs import AnyReader
    from lshfast._io import Corpus
    from lshfast._items.buckets import BucketPlan
    from lshfast.index.lsh_index import LSHIndex
    from lshfast.index.neighbors.points import PointFormat
    from lshfast.index.stores.values import OnDuplicate
    from lshfast.sketch.weighted import WeightedMinHasher


@dataclass(frozen=True)
class ItemsInMemory:
    """Items in memory.

    Attributes
    ----------
    kind : ItemKind
    plan : Plan or PointPlan
        The plan of a run over them.
    batch : Column or PointBatch
    format : PointFormat, optional
        The format of the words of vectors and codes.
    advice : str
        What the user is warned of.
    """

    kind: ItemKind
    plan: Any
    batch: Any
    format: PointFormat | None = None
    advice: str = ""


@dataclass(frozen=True)
class Request:
    """What a caller wants from a run over rows.

    Attributes
    ----------
    keep : str, array_like of shape (n,), or callable, optional
        A policy, or a value for each row; a callable returns the values, once all batches have
        been read. None stands for the first row of each group.
    against : index or EarlierRowsOf, optional
        Rows that are similar to an entry, or to an earlier text, are removed first.
    exact_keys : callable, optional
        Returns the hashes of the exact keys of all rows, (n, 3), once all batches have been read.
        Rows with equal keys are removed but for one, first of all.
    indexed : bool
        Whether rows will be added to an index, which takes their signatures.
    similar : callable, optional
        Called with the similar pairs that are listed, in batches (of texts and sets, a
        `SimilarPairs`).
    format_of : callable, optional
        Returns the format of vectors or codes once all batches have been read; None without any.
    folder : str, optional
        A folder where points are held in a file; by default they are in memory.
    memory : int, optional
        Bytes that a run over points may take; ValueError is raised if the rows need more.
    progress : callable, optional
    buckets : BucketPlan, optional
        The buckets of vectors or codes that are chosen for all rows of which these are a part. By
        default they are chosen for these rows.
    """

    keep: Any = None
    against: Any = None
    exact_keys: Callable[[], UInt64Array] | None = None
    indexed: bool = False
    similar: Callable[[Any], object] | None = None
    format_of: Callable[[], PointFormat | None] | None = None
    folder: str | None = None
    memory: int | None = None
    progress: Progress | None = None
    buckets: BucketPlan | None = None


@dataclass(frozen=True)
class Insertion:
    """Rows of a corpus that are inserted into the index in a file.

    Attributes
    ----------
    index : index
    path : str
        The file of the index.
    corpus : Corpus
    plan : Plan or PointPlan
    reader : reader of points, optional
        What reads the items, if they are no texts.
    job : Job
    progress : callable, optional
    forms : FormSample
        The normal forms of the texts that are inserted.
    """

    index: Any
    path: str
    corpus: Corpus
    plan: Any
    reader: AnyReader | None
    job: Job
    progress: Progress | None
    forms: FormSample


class NewIndex(NamedTuple):
    """An index without entries, its class, and the format that its rows must have, if any."""

    index: Any
    index_class: type[Any]
    format: WeightedMinHasher | None = None


class PairsInMemory(NamedTuple):
    """Similar pairs, what the user is warned of, and what a limit left out."""

    pairs: PairArray
    advice: str
    limited: Limited | None


@dataclass(frozen=True)
class ItemKind(ABC):
    """A kind of items.

    Attributes
    ----------
    name : {"text", "set", "weighted", "vector", "code"}
    """

    name: Kind

    # Whether a run within a given amount of memory divides the rows into parts; otherwise it holds
    # them in a file.
    in_parts: ClassVar[bool] = True

    # Whether a row without elements becomes an entry of an index; it matches nothing.
    empty_are_entries: ClassVar[bool] = True

    @abstractmethod
    def hold(self, items: Any, plan: Any, kind_name: Kind | None) -> ItemsInMemory:
        """Return items of a caller as the engine holds them.

        `kind_name` is the kind that the caller names.
        """

    @abstractmethod
    def batches(
        self, corpus: Corpus, indexes: Indexes, index: Any, progress: Progress | None
    ) -> Iterator[Any]:
        """Read the items of a corpus, whose ids must be keys that the index can have."""

    @abstractmethod
    def run(
        self, batches: Iterable[Any], plan: Any, clock: Clock, request: Request
    ) -> Any:
        """Find the groups of items, and all similar pairs if they are requested."""

    @abstractmethod
    def pairs(
        self,
        items: ItemsInMemory,
        copies: Literal["first", "all"],
        progress: Progress | None,
    ) -> PairsInMemory:
        """Find the similar pairs of items in memory."""

    @abstractmethod
    def check_index(self, index: LSHIndex, plan: Any) -> None:
        """Raise ValueError if a run in memory cannot use an index of earlier rows."""

    def check_earlier_texts(self, plan: Any) -> None:
        """Raise ValueError if a run cannot be compared with earlier items that are read."""
        raise ValueError(
            f"against has earlier items, which are read for texts and sets, not for "
            f"{plural(self.name)}"
        )

    def earlier(self, index: LSHIndex) -> Any:
        """Return an index in memory as `run` takes it."""
        return index

    @abstractmethod
    def insert_kept(self, index: LSHIndex, part: Any, keys: Sequence[Any]) -> int:
        """Insert the kept rows under their keys; return the number of new or replaced entries."""

    @abstractmethod
    def new_index(self, name: str, plan: Any, on_duplicate: OnDuplicate) -> NewIndex:
        """Return an index without entries for rows of a plan; `name` is its file."""

    @abstractmethod
    def fill_index(self, insertion: Insertion, k: int | None) -> int:
        """Insert all rows, and return the number of empty rows.

        With `k`, the bound of a new index is chosen for k neighbors.
        """

    @abstractmethod
    def opened_index(self, indexes: Indexes, plan: Any) -> AbstractContextManager[Any]:
        """Open the index of earlier rows of a run over files, or prepare a new one."""

    @abstractmethod
    def add_kept(
        self, run: Any, index: Any, indexes: Indexes, corpus: Corpus
    ) -> int | None:
        """Insert the kept rows of a run over files; return how many entries are new or replaced."""

    @abstractmethod
    def commit(self, index: Any, path: str, progress: Progress | None) -> None:
        """Write the index that was opened, in place."""

    @abstractmethod
    def check_indexed(self, plan: Any) -> None:
        """Raise ValueError if a run can neither be compared with an index nor be added to one."""

"""Keeps vectors as compact codes of eight bits a dimension, and finds the nearest rows by cosine.

Up to `SIGNS_FROM` rows a question is compared with all codes, 100,000 in 2.5 ms. Beyond, the signs
(one bit a dimension, around the mean) choose candidates, and only their codes are compared: memory
holds only the signs, and the codes are in an unnamed file beside the database.

Rounding to eight bits changes a cosine by less than 0.004. The cosines of the best few rows are
refined by eight finer bits a dimension, from a separate file that is read for those rows alone.
"""

from __future__ import annotations

import mmap
import os
import tempfile
from contextlib import suppress
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt
import simsimd

SIGNS_FROM = 150_000  # rows; from here on the signs also save time, not only memory
FINE_FILE_FROM = 10_000  # fewer rows have 4 MB at most, not worth a file descriptor
CANDIDATES = 12_288  # least number: recall@10 over 100,000 rows is .998, with 8,192 it is .992
_SAMPLE_ROWS = 10_000  # about as many rows are averaged for the center of the signs
CANDIDATE_SHARE = 0.01  # of all rows, if more than CANDIDATES: among more rows the best rank lower
REFINED = 64  # best rows, whose cosines are computed to 16 bits
_STEPS = 127  # of a code, on either side of zero
_FINE_STEPS = 254  # in one step of a code
_LEAST_ROOM = 1024  # rows
_SIGN_BLOCK_ROWS = 1 << 15
_ENCODED_ROWS = 80  # at once: malloc gives larger arrays new pages each time, which takes longer
_WORD_BITS = 64

Ids = npt.NDArray[np.int64]
Rows = npt.NDArray[np.intp]
Floats = npt.NDArray[np.float32]
EightBits = npt.NDArray[np.int8]
Words = npt.NDArray[np.uint64]
Mask = npt.NDArray[np.bool_]


class CodedQuery:
    """A question's unit vector, rounded to eight bits as the rows are, and the remainders.

    Products of eight bits are summed as integers, dozens in one instruction, so a cosine is the
    same to the last bit on any processor and wherever its row is.
    """

    def __init__(self, vector: Floats) -> None:
        self.vector = vector
        self._step = np.float32(max(float(np.abs(vector).max()), 1e-12) / _STEPS)
        steps = vector / self._step
        self._whole: EightBits = np.rint(steps).astype(np.int8)
        self._remainders: EightBits = np.rint((steps - self._whole) * _FINE_STEPS).astype(np.int8)

    def cosines(self, codes: EightBits, scales: Floats) -> Floats:
        """Return the cosines (n,) to rows of `codes` (n, dimension) and `scales` (n,)."""
        return (_products(self._whole, codes) * (scales * self._step)).astype(np.float32)

    def refined_cosines(self, codes: EightBits, fine: EightBits, scales: Floats) -> Floats:
        """Return the cosines (n,) to 16 bits, by the remainders `fine` (n, dimension), too."""
        rest = _products(self._remainders, codes) + _products(self._whole, fine)
        steps = rest / _FINE_STEPS + _products(self._whole, codes)
        return (steps * scales * self._step).astype(np.float32)


def _products(vector: EightBits, rows: EightBits) -> npt.NDArray[np.float64]:
    """Return the inner products (n,) of `vector` and `rows` (n, dimension): whole numbers."""
    # Without `out`: with it simsimd returns None without counting the reference, and Python 3.11
    # aborts after some thousands of questions, when the count of None has reached zero.
    found = simsimd.cdist(vector[None], rows, "dot") if len(rows) else ()
    return np.asarray(found, np.float64).reshape(-1)


@dataclass(frozen=True, slots=True)
class CodedRows:
    """A copy of some rows: ids (n,), codes and remainders (n, dimension), scales (n,)."""

    ids: Ids
    codes: EightBits
    fine: EightBits
    scales: Floats

    @classmethod
    def empty(cls, dimension: int) -> CodedRows:
        nothing = np.empty((0, dimension), np.int8)
        return cls(np.empty(0, np.int64), nothing, nothing, np.empty(0, np.float32))

    def select(self, chosen: Mask) -> CodedRows:
        return CodedRows(
            self.ids[chosen], self.codes[chosen], self.fine[chosen], self.scales[chosen]
        )

    def concatenate(self, others: CodedRows) -> CodedRows:
        return CodedRows(
            np.concatenate([self.ids, others.ids]),
            np.concatenate([self.codes, others.codes]),
            np.concatenate([self.fine, others.fine]),
            np.concatenate([self.scales, others.scales]),
        )

    def cosines(self, question: CodedQuery) -> Floats:
        """Return the cosines (n,) of `question` to the rows, to 16 bits."""
        return question.refined_cosines(self.codes, self.fine, self.scales)


class Codes:
    """Rows of vectors in no order: id, code, remainders and scale. Not thread-safe."""

    def __init__(
        self,
        dimension: int,
        capacity: int = 0,
        *,
        folder: str | None = None,
        is_exact: bool = False,
    ) -> None:
        """`folder` is for files; with `None` all rows stay in memory.

        `is_exact`: the vectors were made from eight-bit codes, so that there are no remainders.
        """
        self.count = 0
        self._dimension = dimension
        self._folder = folder
        self._ids: Ids = np.empty(capacity, np.int64)
        self._scales: Floats = np.empty(capacity, np.float32)
        self._is_exact = is_exact
        self._files: list[mmap.mmap] = []
        self._codes, self._fine = self._allocate(capacity)
        self._signs: _Signs | None = None
        self._places = _RowsById()

    @property
    def ids(self) -> Ids:
        return self._ids[: self.count]

    def rows_of(self, ids: Ids) -> Rows:
        """Return the rows (n,) of `ids`; -1 for unknown ones."""
        return self._places.rows_of(ids)

    def copy_rows(self, rows: Rows) -> CodedRows:
        shape = len(rows), self._dimension
        fine = np.zeros(shape, np.int8) if self._is_exact else self._fine[rows]
        return CodedRows(self._ids[rows], self._codes[rows], fine, self._scales[rows])

    def append(self, ids: Ids, vectors: Floats) -> None:
        """Add rows of unit vectors (n, dimension)."""
        start, end = self.count, self.count + len(ids)
        self._reserve(end)
        for at in range(0, len(ids), _ENCODED_ROWS):
            self._encode(start + at, vectors[at : at + _ENCODED_ROWS])
        self._ids[start:end] = ids
        self._places.put(ids, np.arange(start, end))
        self.count = end
        self._release_pages()
        if self._signs is not None:
            self._signs.append(start, vectors)
        elif end >= SIGNS_FROM:
            self._signs = self._all_signs()

    def _encode(self, start: int, vectors: Floats) -> None:
        """Set the codes of the rows from `start` on."""
        rows = slice(start, start + len(vectors))
        scales = np.maximum(np.abs(vectors).max(axis=1, initial=0), 1e-12) / _STEPS
        steps = vectors / scales[:, None]
        self._codes[rows] = whole = np.rint(steps)
        if not self._is_exact:
            self._fine[rows] = np.rint((steps - whole) * _FINE_STEPS)
        self._scales[rows] = scales

    def remove(self, gone: Rows) -> None:
        """Remove rows. The last ones fill the holes: moving all others would take milliseconds."""
        kept = self.count - len(gone)
        stays = np.ones(self.count - kept, np.bool_)
        stays[gone[gone >= kept] - kept] = False
        holes, last = gone[gone < kept], kept + np.flatnonzero(stays)
        self._places.forget(self._ids[gone])
        for array in (self._ids, self._codes, self._fine, self._scales):
            if len(array):
                array[holes] = array[last]
        self._places.put(self._ids[holes], holes)
        if self._signs is not None:
            self._signs.move(last, holes)
        self.count = kept

    def cosines(self, question: CodedQuery, rows: Rows | None = None) -> Floats:
        """Return the cosines to `rows`, the best of them refined; without `rows` all, unrefined."""
        if rows is None:
            return question.cosines(self._codes[: self.count], self._scales[: self.count])
        chosen = question.cosines(self._codes[rows], self._scales[rows])
        self._refine(question, rows, chosen)
        self._release_pages()
        return chosen

    def _refine(self, question: CodedQuery, rows: Rows, cosines: Floats) -> None:
        """Replace the highest of the `cosines` of `rows` by their values to 16 bits."""
        best = np.arange(len(rows))
        if len(rows) > REFINED:
            best = np.argpartition(cosines, -REFINED)[-REFINED:]
        cosines[best] = self.copy_rows(rows[best]).cosines(question)

    def nearest(
        self, question: CodedQuery, count: int, allowed: Rows | None
    ) -> tuple[Rows, Floats]:
        """Return the `count` rows with the highest cosines, or all, and their cosines, unordered.

        `allowed` are the rows to choose from, each once; `None` for all.
        """
        total = self.count if allowed is None else len(allowed)
        wanted = max(CANDIDATES, 8 * count, int(CANDIDATE_SHARE * self.count))
        rows = allowed
        if self._signs is not None and total > wanted:
            rows = self._signs.nearest(question, wanted, self.count, allowed)
        cosines = self.cosines(question, rows)
        best = np.arange(len(cosines))
        if len(cosines) > count:
            best = np.argpartition(cosines, -count)[-count:]
        found, scores = best if rows is None else rows[best], cosines[best]
        if rows is None:
            self._refine(question, found, scores)
            self._release_pages()
        return found, scores

    def _all_signs(self) -> _Signs:
        sample = slice(0, self.count, max(self.count // _SAMPLE_ROWS, 1))
        vectors = self._codes[sample] * self._scales[sample, None]
        center = vectors.mean(axis=0, dtype=np.float32)
        signs = _Signs(center, len(self._ids))
        for start in range(0, self.count, _SIGN_BLOCK_ROWS):
            end = min(start + _SIGN_BLOCK_ROWS, self.count)
            signs.append(start, self._codes[start:end] * self._scales[start:end, None])
        return signs

    def _reserve(self, rows: int) -> None:
        if rows <= len(self._ids):
            return
        capacity = max(rows, len(self._ids) * 5 // 4, _LEAST_ROOM)
        self._ids = np.resize(self._ids, capacity)
        self._scales = np.resize(self._scales, capacity)
        before = (self._codes, self._fine)
        self._codes, self._fine = self._allocate(capacity)
        for old, new in zip(before, (self._codes, self._fine), strict=True):
            new[: self.count] = old[: self.count]
        if self._signs is not None:
            self._signs.reserve(capacity)

    def _allocate(self, rows: int) -> tuple[EightBits, EightBits]:
        """Return arrays for the codes and the remainders of `rows` rows."""
        self._files.clear()
        codes = self._allocate_array(rows, file_from=SIGNS_FROM)
        return codes, self._allocate_array(0 if self._is_exact else rows, file_from=FINE_FILE_FROM)

    def _allocate_array(self, rows: int, *, file_from: int) -> EightBits:
        """Return an array of `rows`; from `file_from` on in an unnamed file, if there is room."""
        size = rows * self._dimension
        if rows >= file_from and self._folder is not None and hasattr(os, "posix_fallocate"):
            with suppress(OSError), tempfile.TemporaryFile(dir=self._folder) as file:
                os.posix_fallocate(file.fileno(), 0, size)  # else a full disk is a SIGBUS later
                self._files.append(mmap.mmap(file.fileno(), size))
                return np.frombuffer(self._files[-1], np.int8).reshape(rows, self._dimension)
        return np.empty((rows, self._dimension), np.int8)

    def _release_pages(self) -> None:
        """Release the memory of the files' pages; the system keeps them in its page cache."""
        for file in self._files:
            file.madvise(mmap.MADV_DONTNEED)


class _Signs:
    """The signs of each row minus `center`, a bit for each dimension, in words of 64 bits."""

    def __init__(self, center: Floats, capacity: int) -> None:
        self._center = center
        # A row of words for each 64 dimensions, so that one operation handles many vectors.
        self._words: Words = np.empty((len(center) // _WORD_BITS, capacity), np.uint64)

    def reserve(self, capacity: int) -> None:
        words = np.empty((len(self._words), capacity), np.uint64)
        words[:, : self._words.shape[1]] = self._words
        self._words = words

    def append(self, start: int, vectors: Floats) -> None:
        self._words[:, start : start + len(vectors)] = _pack_bits(vectors > self._center).T

    def move(self, rows: Rows, to: Rows) -> None:
        self._words[:, to] = self._words[:, rows]

    def nearest(self, question: CodedQuery, wanted: int, count: int, allowed: Rows | None) -> Rows:
        """Return about `wanted` of the first `count` rows, those with the most signs in common.

        The half of the dimensions in which the question is farthest from `center` counts twice.
        """
        outward = question.vector - self._center
        near = (len(outward) - 1) // 2
        far = np.abs(outward) > np.partition(np.abs(outward), near)[near]
        sides, doubled = _pack_bits(outward > 0)[0], _pack_bits(far)[0]
        apart = np.zeros(count, np.uint16)
        for start in range(0, count, _SIGN_BLOCK_ROWS):
            part = apart[start : start + _SIGN_BLOCK_ROWS]
            for words, side, twice in zip(self._words, sides, doubled, strict=True):
                differing = words[start : start + len(part)] ^ side
                part += np.bitwise_count(differing)
                differing &= twice
                part += np.bitwise_count(differing)
        among = apart if allowed is None else apart[allowed]
        limit = np.searchsorted(np.cumsum(np.bincount(among)), wanted)
        chosen = np.flatnonzero(among <= limit)
        return chosen if allowed is None else allowed[chosen]


class _RowsById:
    """Maps ids to rows by an array, since ids are assigned consecutively."""

    def __init__(self) -> None:
        self._first = 0
        self._rows: npt.NDArray[np.int32] = np.empty(0, np.int32)

    def put(self, ids: Ids, rows: Rows) -> None:
        if not len(ids):
            return
        first, end = int(ids.min()), int(ids.max()) + 1
        if not len(self._rows):
            self._first = first
        if first < self._first or end > self._first + len(self._rows):
            self._extend(min(first, self._first), end)
        self._rows[ids - self._first] = rows

    def forget(self, ids: Ids) -> None:
        self._rows[ids - self._first] = -1

    def rows_of(self, ids: Ids) -> Rows:
        places = ids - self._first
        known = (places >= 0) & (places < len(self._rows))
        rows = np.full(len(ids), -1, np.intp)
        rows[known] = self._rows[places[known]]
        return rows

    def _extend(self, first: int, end: int) -> None:
        before, at = self._rows, self._first - first
        size = max(end - first, at + len(before) * 5 // 4, _LEAST_ROOM)
        self._rows = np.full(size, -1, np.int32)
        self._rows[at : at + len(before)] = before
        self._first = first


def _pack_bits(bits: Mask) -> Words:
    """Pack `bits` (n, dimension) or (dimension,) into words (n, dimension / 64)."""
    return np.packbits(np.atleast_2d(bits), axis=1).view(np.uint64)

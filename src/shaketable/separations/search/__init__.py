"""Search for nearest opponents: points of other groups, exactly, in any norm.

`search.search` takes a `Question` and returns an `Answer`; `search.pairs_within` lists pairs. Four
modules answer the same questions: `trees` (k-d trees) up to 16 dimensions, in more `direct` (every
pair) for few points and `blocks` (compiled loops) for many, and `tensors` on a torch device. A
module for another way needs these two functions and a line in `search`.

How `blocks` works. Nearly every pair of points is decided by a lower bound of its distance. A pair
passes four stages, each more expensive and closer to the distance than the one before:

1. the bounding boxes of tiles of 64 points;
2. one point against all points of a tile, in vector registers: in L1 and L2 by 16 and then 32
   features (`features`, `kernels`), in L-inf by marks, one bit each (`marks`, `mark_kernels`);
3. up to 256 features of the pair;
4. the points themselves, abandoned as soon as the partial sum is too large.

On CIFAR-10 in L2, nearest opponents of all points: of 1.6 billion pairs 7 % reach the third stage,
1.2 % the last, and 0.1 % improve a result.

- Results are exact. Features are rounded, and `Units.slack` bounds the error, so that a lower bound
  is never too high; marks are not rounded. On uint8 the principal directions are whole numbers,
  small enough for float32 products of them to be exact. Pairs that pass all stages are measured
  directly: in whole numbers on uint8; on floats by differences in float64, summed with
  compensation. Of equal distances the one with the lower row wins, whatever the order of the work.
- Points are sorted by group and along a space-filling curve, so that tiles are compact. Tiles whose
  boxes touch are compared first: they hold the nearest points, so that all later bounds are tight.
- In sparse images most points are equally far apart in L-inf, and many opponents equally near.
  There points are sorted by row, so that once an opponent is found, all others as near are passed
  over.
- A task is a pure function of two blocks of points and the bounds known when it starts; results are
  merged by taking minima. So tasks run in threads, or wherever ``joblib.parallel_config`` sends
  them, with the same result.
- Memory: the data, and at most about 500 bytes of features per point, in L-inf 1700 of marks.
"""

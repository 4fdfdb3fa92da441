"""Times LAPACK in single precision, as NumPy and SciPy call it, on the decompositions that isobit's benchmarks do.

Prints one JSON line a measurement to stdout, by the rules of `sklearn_peers.py`
(median of quiet repeats after a warm-up).

    VENV/bin/python benches/peers/linalg_peers.py [--rows N ...] [--repeats N] > benches/peers/linalg_peers.jsonl

Drivers are SciPy's defaults but for `eigh`, where `evd` (divide and conquer)
computes all vectors fastest. Inputs are single precision, and so are all results.
"""

import os

for _name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
    os.environ.pop(_name, None)

import argparse
import sys

import numpy as np
import scipy
import scipy.linalg as sl
import sklearn_peers
from sklearn_peers import LEFT_OUT, measure, print_conditions


def matrix(n: int, m: int | None = None) -> np.ndarray:
    return np.random.default_rng(31).uniform(-2, 2, (m or n, n)).astype(np.float32)


def squares(n: int) -> None:
    a = matrix(n)
    symmetric = np.tril(a) + np.tril(a, -1).T
    positive = symmetric + np.float32(2 * n) * np.eye(n, dtype=np.float32)
    shape = f"{n}x{n} f32"
    options = {"check_finite": False}
    measure("cholesky", shape, lambda: sl.cholesky(positive, lower=True, **options))
    measure("lu", shape, lambda: sl.lu_factor(a, **options))
    measure("triangular_solve", shape, lambda: sl.solve_triangular(positive, a, lower=True, **options))
    measure("qr", shape, lambda: sl.qr(a, mode="economic", **options))
    measure("symmetric_eigen", shape, lambda: sl.eigh(symmetric, driver="evd", **options))
    measure("singular_values", shape, lambda: sl.svd(a, compute_uv=False, **options))
    measure("svd", shape, lambda: sl.svd(a, full_matrices=False, **options))


def main() -> None:
    parser = argparse.ArgumentParser(description="Times LAPACK on the benchmark shapes.")
    parser.add_argument("--rows", type=int, nargs="*", default=[1024, 4096], help="sizes of the square matrices")
    parser.add_argument("--repeats", type=int, default=sklearn_peers.REPEATS, help="quiet repeats of each")
    args = parser.parse_args()
    sklearn_peers.REPEATS = args.repeats
    sklearn_peers.LIBRARY = f"LAPACK single precision, SciPy {scipy.__version__}"
    print_conditions()
    for n in args.rows:
        squares(n)
    if 1024 in args.rows:
        a, b = matrix(512, 4096), matrix(1, 4096)
        measure("lstsq", "4096x512 f32, one right side", lambda: sl.lstsq(a, b, check_finite=False))
    if LEFT_OUT:
        sys.exit(1)


if __name__ == "__main__":
    main()

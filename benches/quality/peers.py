"""The other libraries' half of the quality comparison, and the table.

    VENV/bin/python benches/quality/peers.py fit TABLES OUT [PART OF A NAME]
    VENV/bin/python benches/quality/peers.py table TABLES OUT

TABLES is what `prepare.py` wrote, OUT where the example `quality` of `ml-trees` wrote what isobit predicts. `fit` trains
the peer of each case of `cases.json` with the settings written below, on two threads, and leaves what it predicts beside
it. `table` computes the metric of both from the raw predictions in binary64 and prints a Markdown table. Seconds are
those of the fit alone, binning included, as the run found the machine; they are no record of speed.
"""

import json
import sys
import time
from pathlib import Path

import numpy as np

HERE = Path(__file__).resolve().parent
ALL = json.loads((HERE / "cases.json").read_text())
# What stands for a missing value where an estimator takes none; the Rust example has the same.
NO_VALUE = -1000.0
THREADS = 2


class Part:
    """Rows of one part of a table, as f32."""

    def __init__(self, folder, table, part, rows=None):
        def read(what):
            path = folder / f"{table}_{part}_{what}.npy"
            return np.load(path) if path.exists() else None
        self.x, self.y, self.groups = read("x")[:rows], read("y")[:rows], read("groups")
        self.categorical = json.loads((folder / "tables.json").read_text())[table]["categorical"]

    def query(self):
        return None if self.groups is None else np.repeat(np.arange(len(self.groups)), self.groups)


def with_xgboost(case, of, train, test):
    import xgboost
    grow = {"grow_policy": "depthwise", "max_depth": of["depth"]} if case["policy"] == "depthwise" else {
        "grow_policy": "lossguide", "max_depth": 0, "max_leaves": of["leaves"]}
    # It starts where our fits start: the mean, the logit of the share, 0 for a ranking.
    loss = {
        "RMSE": {"objective": "reg:squarederror", "base_score": float(np.mean(train.y, dtype=np.float64))},
        "Logloss": {"objective": "binary:logistic", "base_score": float(np.mean(train.y, dtype=np.float64))},
        "LambdaRank": {"objective": "rank:ndcg", "lambdarank_pair_method": "topk",
                       "lambdarank_num_pair_per_sample": 10000, "lambdarank_normalization": False,
                       "lambdarank_score_normalization": False, "ndcg_exp_gain": True, "base_score": 0.0},
    }[case["loss"]]
    settings = {
        "tree_method": "hist", "eta": of["rate"], "max_bin": of["bins"], "min_child_weight": case["weight"],
        "lambda": of["l2"], "nthread": THREADS, "max_delta_step": 0.0, **grow, **loss,
    }
    types = ["q"] * train.x.shape[1]
    if case.get("native"):
        # Our bound between naming one category and sets of them.
        settings["max_cat_to_onehot"] = 5
        for column in train.categorical:
            types[column] = "c"

    def matrix(part):
        return xgboost.DMatrix(part.x, part.y, group=part.groups, feature_types=types, enable_categorical=True)
    rows, more = matrix(train), matrix(test)
    start = time.perf_counter()
    model = xgboost.train(settings, rows, of["trees"])
    seconds = time.perf_counter() - start
    return model.predict(more, output_margin=True), seconds


def with_lightgbm(case, of, train, test):
    import lightgbm
    loss = {
        "RMSE": {"objective": "l2"}, "Logloss": {"objective": "binary"},
        "LambdaRank": {"objective": "lambdarank", "lambdarank_norm": False,
                       "lambdarank_truncation_level": 10000, "label_gain": [0, 1, 3, 7, 15]},
    }[case["loss"]]
    settings = {
        "learning_rate": of["rate"], "num_leaves": of["leaves"], "max_depth": -1, "max_bin": of["bins"],
        "min_data_in_bin": 1, "min_data_in_leaf": case["samples"], "min_sum_hessian_in_leaf": case["weight"],
        "lambda_l2": of["l2"], "num_threads": THREADS, "bin_construct_sample_cnt": len(train.y),
        "deterministic": True, "force_col_wise": True, "enable_bundle": False, "feature_pre_filter": False,
        "verbose": -1,
        # What ours does with categories: no other penalty, sets of up to 64 from either end, no smoothing.
        "cat_l2": 0.0, "cat_smooth": 0.0, "max_cat_threshold": 64, "min_data_per_group": 1, "max_cat_to_onehot": 4,
        **loss,
    }
    start = time.perf_counter()
    data = lightgbm.Dataset(train.x, train.y, group=train.groups, params=settings,
                            categorical_feature=train.categorical if case.get("native") else [])
    model = lightgbm.train(settings, data, of["trees"])
    seconds = time.perf_counter() - start
    return model.predict(test.x, raw_score=True), seconds


def with_catboost(case, of, train, test):
    import catboost
    settings = {
        "loss_function": case["loss"], "iterations": of["trees"], "learning_rate": of["rate"], "depth": of["depth"],
        "l2_leaf_reg": of["l2"], "border_count": of["bins"] - 1, "random_strength": 0.0, "bootstrap_type": "No",
        "boosting_type": "Plain", "score_function": case.get("score", "L2"), "leaf_estimation_method": "Newton",
        "leaf_estimation_iterations": 1, "feature_border_type": case.get("borders", "GreedyLogSum"),
        "boost_from_average": case["loss"] in ("RMSE", "Logloss"), "nan_mode": "Min",
        "thread_count": THREADS, "allow_writing_files": False, "verbose": False,
    }
    rows = catboost.Pool(train.x, train.y, group_id=train.query())
    start = time.perf_counter()
    model = catboost.CatBoost(settings)
    model.fit(rows)
    seconds = time.perf_counter() - start
    return model.predict(test.x, prediction_type="RawFormulaVal"), seconds


def with_sklearn(case, of, seed, train, test):
    from sklearn import ensemble
    kind = {
        ("random_forest", "RMSE"): ensemble.RandomForestRegressor, ("extra_trees", "RMSE"): ensemble.ExtraTreesRegressor,
        ("random_forest", "Brier"): ensemble.RandomForestClassifier,
        ("extra_trees", "Brier"): ensemble.ExtraTreesClassifier,
    }[case["forest"], case["loss"]]
    model = kind(n_estimators=of["trees"], n_jobs=THREADS, random_state=seed)
    start = time.perf_counter()
    model.fit(np.nan_to_num(train.x, nan=NO_VALUE), train.y)
    seconds = time.perf_counter() - start
    more = np.nan_to_num(test.x, nan=NO_VALUE)
    return (model.predict(more) if case["loss"] == "RMSE" else model.predict_proba(more)[:, 1]), seconds


def ndcg(score, part):
    """The mean over groups that have something to find; ties in descending order of score go to the lower row."""
    total, found, at = 0.0, 0, 0
    for size in part.groups:
        y, s = part.y[at:at + size].astype(np.float64), score[at:at + size]
        at += size
        discount = 1 / np.log2(np.arange(2, size + 2))
        best = np.sum((2 ** np.sort(y)[::-1] - 1) * discount)
        if best > 0:
            total += np.sum((2 ** y[np.argsort(-s, kind="stable")] - 1) * discount) / best
            found += 1
    return total / found


def metric(case, score, part):
    """Name and value of what is compared: less is better but for NDCG."""
    y, score = part.y.astype(np.float64), np.asarray(score, dtype=np.float64)
    if part.groups is not None:
        return "NDCG", ndcg(score, part)
    if case["loss"] == "RMSE":
        return "RMSE", float(np.sqrt(np.mean((score - y) ** 2)))
    if case["loss"] == "Brier":
        return "Brier", float(np.mean((score - y) ** 2))
    return "Logloss", float(np.mean(np.logaddexp(0, score) - y * score))


def fit(tables, out, part):
    for case in ALL["cases"]:
        if part not in case["name"]:
            continue
        train, test = Part(tables, case["table"], "train", case.get("rows")), Part(tables, case["table"], "test")
        for seed in range(case.get("seeds", 1)):
            if "forest" in case:
                score, seconds = with_sklearn(case, ALL["forest"], seed, train, test)
            else:
                by = {"xgboost": with_xgboost, "lightgbm": with_lightgbm, "catboost": with_catboost}[case["peer"]]
                score, seconds = by(case, ALL["boosting"], train, test)
            np.save(out / f"{case['name']}.{seed}.peer.npy", np.asarray(score, dtype=np.float64))
            line = json.dumps({"name": case["name"], "seed": seed, "rows": len(train.y), "seconds": seconds})
            print(line, metric(case, score, test))
            with open(out / "peers.jsonl", "a", encoding="utf-8") as lines:
                lines.write(line + "\n")


def table(tables, out):
    def seconds(file):
        lines = [json.loads(line) for line in (out / file).read_text().splitlines()]
        return {(line["name"], line["seed"]): line for line in lines}
    own, theirs = seconds("ours.jsonl"), seconds("peers.jsonl")
    print("| case | rows | peer | metric | isobit | peer's | difference | standard error | s | peer's s |")
    print("|---|---|---|---|---|---|---|---|---|---|")
    for case in ALL["cases"]:
        name, seeds = case["name"], range(case.get("seeds", 1))
        if any((name, s) not in own or (name, s) not in theirs for s in seeds):
            continue
        test = Part(tables, case["table"], "test")
        ours = [metric(case, np.fromfile(out / f"{name}.{s}.f32", dtype="<f4"), test) for s in seeds]
        peers = [metric(case, np.load(out / f"{name}.{s}.peer.npy"), test)[1] for s in seeds]
        a, b = np.array([m for _, m in ours]), np.array(peers)
        difference = 100 * (a.mean() / b.mean() - 1)
        # Of the difference of two means of independent seeds, in percent.
        error = 100 * np.sqrt((a.var(ddof=1) + b.var(ddof=1)) / len(a)) / b.mean() if len(a) > 1 else None
        times = [np.mean([of[name, s]["seconds"] for s in seeds]) for of in (own, theirs)]
        print(f"| {name} | {own[name, 0]['rows']} | {case['peer']} | {ours[0][0]} | {a.mean():.6f} | {b.mean():.6f} "
              f"| {difference:+.3f}% | {'' if error is None else f'{error:.3f}%'} | {times[0]:.1f} | {times[1]:.1f} |")


def main():
    if len(sys.argv) < 4 or sys.argv[1] not in ("fit", "table"):
        sys.exit(__doc__)
    tables, out = Path(sys.argv[2]), Path(sys.argv[3])
    out.mkdir(parents=True, exist_ok=True)
    if sys.argv[1] == "fit":
        fit(tables, out, sys.argv[4] if len(sys.argv) > 4 else "")
    else:
        table(tables, out)


main()

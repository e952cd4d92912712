"""Which columns of each csv the report draws, and what a reader may choose: see html.figure."""

from typing import Any

__all__ = ["FIGURES"]


def y(col: str, label: str, bounds: Any = (), spread: Any = None) -> dict[str, Any]:
    return {"col": col, "label": label, "bounds": list(bounds)} | (
        {"spread": spread} if spread else {}
    )


BOUND = (["bound", "bound of the theorem"],)
SEEDS = ["least", "most"]

FIGURES: dict[str, list[dict[str, Any]]] = {
    "averaging": [
        {
            "x": [["t", "steps t"]],
            "y": [y("mean", "P - P*", BOUND, SEEDS)],
            "series": ["iterate"],
            "choose": ["data", "step"],
            "log": "xy",
        }
    ],
    "batch_vs_stochastic": [
        {
            "x": [["rows_touched", "rows touched"], ["steps", "steps"]],
            "y": [y("excess", "L(mean) - L*", BOUND, SEEDS)],
            "series": ["b"],
            "log": "xy",
        }
    ],
    "conll": [
        {
            "title": "After the last pass, by lambda",
            "where": {"passes": 6},
            "x": [["lam", "lambda"]],
            "y": [y("held_out", "chunk F1, held out")],
            "series": ["method", "iterate"],
            "log": "x",
        },
        {
            "title": "Pass by pass",
            "x": [["passes", "passes"], ["seconds", "seconds"]],
            "y": [y("held_out", "chunk F1, held out")],
            "series": ["lam"],
            "choose": ["method", "iterate"],
            "log": "",
        },
    ],
    "cost_vs_n": [
        {
            "x": [["N", "examples N"], ["eps", "accuracy eps"]],
            "y": [y("decodings", "decodings until P - P* <= eps")],
            "series": ["method", "eps"],
            "choose": ["data"],
            "log": "xy",
        }
    ],
    "data_size": [
        {
            "x": [["iterations", "iterations"], ["m", "examples m"]],
            "y": [y("test_error", "test error")],
            "series": ["m"],
            "choose": ["lam"],
            "log": "x",
        }
    ],
    "dfsdca_lambda": [
        {
            "x": [["passes", "passes"]],
            "y": [y("excess", "P - P*", (["bound", "(1 - theta)^t"],))],
            "series": ["lam"],
            "choose": ["data"],
            "log": "y",
        }
    ],
    "dual_zoo": [
        {
            "x": [["work", "row touches / n"], ["seconds", "seconds, all lambdas together"]],
            "y": [
                y(
                    "relative_gap",
                    "certified relative gap",
                    (["relative_bound", "bound of the theorem"],),
                )
            ],
            "series": ["method"],
            "choose": ["data", "lam"],
            "names": {"lam": "lambda"},
            "log": "xy",
        }
    ],
    "gp_figures": [
        {
            "title": "The posterior: its mean, and two standard deviations to each side",
            "x": [["x", "x"]],
            "y": [y("mean", "function", (), ["low", "high"])],
            "choose": ["kernel"],
            "log": "",
        },
        {
            "title": "Functions drawn before and after the data",
            "x": [["x", "x"]],
            "y": [y("value", "function")],
            "melt": {
                "cols": [f"{p}_{k}" for p in ("prior", "posterior") for k in range(5)],
                "name": "curve",
                "value": "value",
            },
            "series": ["curve"],
            "choose": ["kernel"],
            "log": "",
        },
    ],
    "huber": [
        {
            "x": [["eps", "accuracy eps"]],
            "y": [
                y("steps", "steps, mu = eps", BOUND),
                y("steps_mu_falling", "steps, mu falling by itself"),
                y("certified", "steps to a certified eps"),
            ],
            "series": ["method"],
            "log": "xy",
        }
    ],
    "kernel_table": [
        {
            "x": [["epsilon", "certified relative gap"]],
            "y": [y("iterations", "iterations", BOUND), y("seconds", "seconds")],
            "series": ["solver"],
            "choose": ["n"],
            "log": "xy",
        },
        {
            "title": "By the number of examples",
            "x": [["n", "examples n"]],
            "y": [y("iterations", "iterations", BOUND), y("seconds", "seconds")],
            "series": ["solver"],
            "choose": ["epsilon"],
            "log": "xy",
        },
    ],
    "last_iterate": [
        {
            "x": [["T", "steps T"]],
            "y": [y("ratio", "(F - F*) sqrt(T)/(B G)")],
            "guide": [1.0, "bound of the theorem"],
            "series": ["iterate"],
            "choose": ["function"],
            "log": "xy",
        }
    ],
    "map_vs_bayes": [
        {
            "x": [["x", "x"]],
            "y": [y("value", "P(y = 1 | x)")],
            "melt": {
                "cols": ["MAP in w", "MAP in u = e^w", "mean of w", "Bayes, over w"]
                + ["Bayes, over u", "Gaussian about the mode"],
                "name": "prediction",
                "value": "value",
            },
            "series": ["prediction"],
            "log": "",
        }
    ],
    "n_or_d": [
        {
            "x": [["n", "examples n"], ["d", "features d"]],
            "y": [y("passes", "passes"), y("seconds", "seconds")],
            "series": ["method"],
            "log": "xy",
        }
    ],
    "passes_vs_data": [
        {
            "x": [["T", "steps T"]],
            "y": [
                y("test_hinge", "test hinge", BOUND),
                y("train_hinge", "train hinge"),
                y("test_error", "test error"),
                y("optimisation", "optimisation error"),
            ],
            "log": "x",
        }
    ],
    "pegasos": [
        {
            "x": [["T", "steps T"]],
            "y": [
                y("excess", "P - P*", (["bound", "G^2 (1 + ln T)/(2 lambda T)"],), SEEDS),
                y("gap", "certified gap"),
            ],
            "series": ["iterate"],
            "choose": ["batch", "projection"],
            "log": "xy",
        }
    ],
    "primal_zoo": [
        {
            "x": [["work", "row touches / n"], ["seconds", "seconds, all lambdas together"]],
            "y": [y("relative_gap", "certified relative gap")],
            "series": ["method"],
            "choose": ["data", "lam"],
            "names": {"lam": "lambda"},
            "log": "y",
        }
    ],
    "quartz_vs_sdca": [
        {
            "x": [["passes", "passes"]],
            "y": [y("gap", "duality gap", (["bound", "(1 - theta)^t (P(0) - D(0))"],))],
            "series": ["method"],
            "choose": ["data"],
            "log": "y",
        }
    ],
    "sampling": [
        {
            "x": [["tau", "examples a step, tau"], ["sampling", "sampling"]],
            "y": [
                y("gain", "gain over uniform visits", (["predicted_gain", "predicted by theta"],)),
                y("steps", "steps", (["bound_steps", "bound on the steps"],)),
                y("passes", "passes"),
                y("share_of_bound", "share of the bound used"),
            ],
            "series": ["sampling"],
            "choose": ["data"],
            "points": True,
            "log": "xy",
        }
    ],
    "scale": [
        {
            "title": "The cost of a pass, measured and by the model",
            "where": {"kind": "pass"},
            "x": [["d", "features d"], ["lambdas", "lambdas k"]],
            "y": [y("ns", "ns per example", (["model_ns", "model"],))],
            "series": ["lambdas"],
            "names": {"lambdas": "k"},
            "log": "xy",
        },
        {
            "title": "On paper: hours by nodes",
            "where": {"kind": "paper"},
            "x": [["nodes", "nodes"]],
            "y": [
                y("compute_hours", "hours of computing"),
                y("exchange_hours", "hours of exchange"),
            ],
            "series": ["plan", "lambdas"],
            "log": "xy",
        },
    ],
    "sda_bound": [
        {
            "x": [["eps", "accuracy eps"], ["lam", "lambda"]],
            "y": [
                y("updates", "updates", (["corrected", "corrected bound"],)),
                y("updates", "updates beside the printed bound", (["printed", "printed bound"],)),
            ],
            "series": ["lam"],
            "choose": ["data", "rule"],
            "log": "xy",
        }
    ],
    "showcase": [
        {
            "x": [["lam", "lambda"]],
            "y": [
                y("relative_gap", "certified relative gap"),
                y("primal", "objective P", (["dual", "lower bound D"],)),
                y("svc_1000", "objective of LinearSVC", (["dual", "lower bound D"],)),
            ],
            "series": ["data"],
            "log": "xy",
        }
    ],
    "structured_sda": [
        {
            "x": [["oracle_calls", "decodings"], ["passes", "passes"], ["seconds", "seconds"]]
            + [["updates", "updates"]],
            "y": [
                y("relative_gap", "certified relative gap"),
                y("primal", "objective P", (["dual", "lower bound D"],)),
                y("test_error", "test error"),
            ],
            "series": ["method"],
            "choose": ["task", "lam"],
            "names": {"lam": "lambda"},
            "log": "xy",
        }
    ],
    "structured_steps": [
        {
            "x": [["passes", "passes"]],
            "y": [y("mean", "P - P*", (), SEEDS), y("test_error", "test error")],
            "series": ["method", "c"],
            "choose": ["data", "group"],
            "log": "y",
        }
    ],
    "structured_zoo": [
        {
            "x": [["calls", "decodings / n"], ["seconds", "seconds, all lambdas together"]],
            "y": [y("excess", "P / best lower bound - 1"), y("risk", "test letters wrong")],
            "series": ["method"],
            "choose": ["lam"],
            "names": {"lam": "lambda"},
            "log": "xy",
        }
    ],
    "three_levels": [
        {
            "x": [["labels", "labels"]],
            "y": [y("error", "test error"), y("standard_error", "its standard error")],
            "series": ["level"],
            "choose": ["world"],
            "log": "xy",
        }
    ],
    "zoo_table": [
        {
            "x": [["method", "method"]],
            "y": [
                y("certified", "certified relative gap"),
                y("excess", "true distance, P / P* - 1"),
                y("memory_in_w", "size of the state, in vectors w"),
                y("time_an_update", "time of an update, in decodings"),
                y("decodings_an_update", "decodings an update"),
                y("worse_by", "P - P*: step constant 5 times off / best"),
            ],
            "series": ["kind"],
            "points": True,
            "log": "y",
        }
    ],
}

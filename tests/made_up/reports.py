"""Reports of tables as plain dictionaries: connections of a network, made up."""

import math

GROUPS = [
    ("bytes_out and duration too high", ("bytes_out", "duration"), 1),
    ("failed_logins too high", ("failed_logins", "session_length"), 1),
    ("service unusual", ("service", "bytes_in"), 0),
    ("session_length too low", ("session_length", "bytes_in"), -1),
]


def table(shown=12, rest=30, rows=10_000):
    """Connections of a network, as `whyodd explain` would sum them up."""
    odd = shown + rest
    anomalies = [anomaly(rank, odd) for rank in range(1, shown + 1)]
    others = [plain_row(rank, odd) for rank in range(shown + 1, odd + 1)]
    groups = [
        {
            "label": label,
            "sentence": f"{len(range(place + 1, odd + 1, 4))} rows: {label}",
            "count": len(range(place + 1, odd + 1, 4)),
            "features": list(features),
            "judgements": ["too high"] * len(features),
            "ranks": list(range(place + 1, odd + 1, 4)),
        }
        for place, (label, features, _) in enumerate(GROUPS)
    ]
    return {
        **frame("table", "row", odd=odd, rows=rows, shown=shown),
        "title": "Network connections of May",
        "groups": [group for group in groups if group["count"]],
        "anomalies": anomalies,
        "rest": others,
        "compared": compared(anomalies),
        "columns": {
            "used": [
                column("bytes_out", "number", "long tail: on a logarithmic scale", gaps=12),
                column("bytes_in", "number", "long tail: on a logarithmic scale"),
                column("duration", "number", ""),
                column("failed_logins", "count", ""),
                column("service", "category", "12 values, one of them rare", values="'http', 'smtp', …"),
            ],
            "set_aside": [column("connection_id", "identifier", "a different value in each row", used=False)],
            "model": "A one-class SVM with a Gaussian kernel was fitted to 10,000 rows.",
        },
    }


def column(name, kind, note, *, used=True, why="numbers that are not all whole", gaps=0, values="0 to 12"):
    """What is told of a column."""
    told = {"name": name, "kind": kind, "used": used, "note": note, "why": why}
    return {**told, "gaps": gaps, "distinct": 40, "values": values}


def frame(kind, noun, *, odd, rows, shown):
    return {
        "version": "0.2.0",
        "kind": kind,
        "title": f"Odd {noun}s",
        "method": "dtd",
        "is_additive": True,
        "exactness": "exact",
        "fidelity": None,
        "noun": noun,
        "counts": {"rows": rows, "odd": odd, "explained": odd, "shown": shown},
        "threshold": {
            "value": 3.21,
            "text": "3.21",
            "source": f"Above an outlierness of 3.21 a {noun} is called odd: the model's own threshold.",
        },
        "scores": _scores(rows, odd),
        "usual_source": "Usual ranges are the middle 90 % of the 9,912 rows below the threshold.",
        "groups": [],
        "anomalies": [],
        "rest": [],
        "n_unlisted": 0,
        "compared": None,
        "trust": _trust(),
        "columns": None,
        "notes": ["3 rows hold no values at all and were left out.", "The file has 2 empty columns."],
        "made_by": "whyodd explain connections.csv --report report.html",
    }


def _scores(rows, odd):
    """Counts that fall off, the threshold at an edge."""
    edges = [0.2 + place * (3.21 - 0.2) / 20 for place in range(81)]
    shape = [math.exp(-(((place - 5) / 4.5) ** 2)) if place < 20 else 0.0 for place in range(80)]
    below = [round(rows * part / sum(shape)) for part in shape]
    above = [0] * 80
    for member in range(odd):
        above[min(20 + int(60 * (member / odd) ** 4), 79)] += 1
    return {
        "edges": edges,
        "is_log": False,
        "below": below,
        "above": above,
        "lowest": 0.21,
        "median": 0.98,
        "highest": 12.24,
    }


def _trust():
    bars = [
        {"label": "this explanation", "value": 0.31, "value_text": "0.31"},
        {"label": "nearest neighbour", "value": 0.42, "value_text": "0.42"},
        {"label": "random order", "value": 0.66, "value_text": "0.66"},
    ]
    panels = [
        ("Adds up", "to 2e-15", "good", "Relevance and the unexplained part sum to the outlierness.", None),
        ("Has reasons", "71 %", "fair", "Of a typical row's outlierness 29 % belongs to no variable.", None),
        ("Finds what matters", "0.31", "good", "Set to normal in this order, oddness falls fast.", bars),
        ("Stable", "0.98", "poor", "Nearly the same rows have quite other reasons.", None),
        ("Agrees", "not measured", "unknown", "There is one row only.", None),
    ]
    keys = ("title", "value_text", "verdict", "sentence", "bars")
    return {"panels": [dict(zip(keys, panel, strict=True)) for panel in panels], "rows": 200}


def _outlierness(rank, odd):
    return 3.3 + 8.9 * ((odd - rank) / odd) ** 4


def plain_row(rank, odd):
    """One of those without a card."""
    place = (rank - 1) % len(GROUPS)
    o = _outlierness(rank, odd)
    return {
        "rank": rank,
        "row": (rank * 7919) % 10_000,
        "id": f"conn-{(rank * 7919) % 10_000:05d}",
        "name": f"conn-{(rank * 7919) % 10_000:05d}",
        "outlierness": o,
        "outlierness_text": f"{o:.2f}",
        "main": GROUPS[place][0],
        "group": place,
    }


def anomaly(rank, odd):
    """One of those with a card."""
    row = plain_row(rank, odd)
    del row["main"]
    first, second = GROUPS[row["group"]][1]
    direction = GROUPS[row["group"]][2]
    return {
        **row,
        "times": row["outlierness"] / 3.21,
        "how_odd": "17 times as odd as a usual row; about 1 in 20,000 normal rows is",
        "why": f"{first} is {_word(direction)} (12,400, expected about 35.5): 41 % of the outlierness; "
        f"{second} is {_word(direction)} (48.1, expected about 2.1): 22 %; 18 % belongs to no variable",
        "reasons": [
            category(first, 0.41) if direction == 0 else reason(first, direction, 0.41),
            reason(second, direction or -1, 0.22),
            {
                **category("flag", 0.08),
                "judgement": "at odds with service",
                "scatter": scatter("service", "flag"),
            },
            reason("hour_of_day", -1, 0.05, at=None),
        ],
        "others": {"count": 17, "share": 0.06, "share_text": "6 %"},
        "unexplained": {"share": 0.18, "share_text": "18 %"},
        "neighbors": [neighbor(f"conn-{place:05d}", first, second, weight) for place, weight in _NEAREST],
        "change": _change(first, second) if rank % 3 else None,
        "change_missing": None if rank % 3 else "No change of a few variables brings it below the threshold.",
        "rarity": None,
        "similar": similar(rank, odd),
        "context": None,
        "item": None,
    }


def similar(rank, odd):
    """Other rows of the same group."""
    ranks = [other for other in range((rank - 1) % len(GROUPS) + 1, odd + 1, len(GROUPS)) if other != rank]
    rows = [{"rank": other, "name": plain_row(other, odd)["name"]} for other in ranks[:6]]
    label = GROUPS[(rank - 1) % len(GROUPS)][0]
    return {"label": label, "count": len(ranks), "rows": rows} if rows else None


_NEAREST = [(17, "41 %"), (204, "22 %"), (3381, "9 %")]


def _word(direction):
    return {1: "too high", -1: "too low", 0: "unusual"}[direction]


def reason(name, direction, share, at=0.93):
    is_missing = at is None
    low_at, high_at = (0.05, 0.4) if direction > 0 else (0.5, 0.95)
    return {
        "name": name,
        "value": "-" if is_missing else "12,400" if direction > 0 else "0.4",
        "expected": "35.5",
        "direction": 0 if is_missing else direction,
        "judgement": "missing" if is_missing else _word(direction),
        "relevance": 10 * share,
        "share": share,
        "share_text": f"{100 * share:.0f} %",
        "usual": {"low": "2.1", "high": "48", "side": "above"},
        "common": None,
        "strip": {
            "heights": [0.08, 0.3, 1.0, 0.6, 0.2, 0.0, 0.08],
            "start": 0.03,
            "stop": 0.78,
            "at": None if is_missing else at if direction > 0 else 1 - at,
            "low_at": low_at,
            "high_at": high_at,
            "expected_at": (low_at + high_at) / 2,
            "break_at": 0.87 if direction > 0 else None,
            "ends": ["0:00", "24:00"] if is_missing else None,
            "caption": "hour of the day" if is_missing else None,
        },
        "scatter": None,
    }


def scatter(x, y):
    """Usual rows on a line, and one that is not on it."""
    return {
        "x": {"name": x, "ticks": [[0.04, "1"], [0.96, "9"]]},
        "y": {"name": y, "ticks": [[0.04, "0"], [0.96, "120"]]},
        "points": [[place / 20, place / 20] for place in range(21)],
        "at": [0.2, 0.9],
        "count": 800,
    }


def category(name, share):
    return {
        "name": name,
        "value": "'telnet'",
        "expected": "'http'",
        "direction": 0,
        "judgement": "unusual",
        "relevance": 10 * share,
        "share": share,
        "share_text": f"{100 * share:.0f} %",
        "usual": None,
        "common": [
            {"value": "'http'", "share": 0.71, "share_text": "71 %", "is_here": False},
            {"value": "'smtp'", "share": 0.12, "share_text": "12 %", "is_here": False},
            {"value": "'telnet'", "share": 0.0, "share_text": "none", "is_here": True},
        ],
        "strip": None,
        "scatter": None,
    }


def neighbor(name, first, second, weight):
    values = [
        {"name": first, "value": "36.1", "same": False},
        {"name": second, "value": "2.2", "same": False},
        {"name": "flag", "value": "'SF'", "same": True},
    ]
    place = int(name.removeprefix("conn-"))
    links = {"center": place, "rank": None}
    return {"name": name, **links, "is_odd": False, "assignment_text": weight, "values": values}


def compared(anomalies):
    """The known rows that cards name."""
    if not anomalies:
        return None
    near = [{"rank": row["rank"], "name": row["name"]} for row in anomalies[:6]]
    rows = [
        {
            "center": place,
            "name": f"conn-{place:05d}",
            "is_odd": place == 204,
            "values": ["36.1", "'SF'"],
            "near": near,
            "n_near": len(anomalies),
        }
        for place, _ in _NEAREST
    ]
    return {"columns": ["bytes_out", "flag"], "rows": rows}


def _change(first, second):
    steps = [{"name": first, "from": "12,400", "to": "310"}, {"name": second, "from": "48.1", "to": "12"}]
    return {
        "sentence": f"If {first} were 310 and {second} 12, this row would not be odd.",
        "steps": steps,
        "outlierness_text": "3.2",
    }


def nothing_odd():
    """A report of data in which all is as usual."""
    summary = table(0, 0)
    return {**summary, "n_unlisted": 0, "trust": {"panels": [], "rows": 0}}

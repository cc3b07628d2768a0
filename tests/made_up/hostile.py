"""A report with values that try to be more than text."""

from made_up.reports import category, column, reason, scatter, table

HARMFUL = [
    "<script>alert(1)</script>",
    "</style><script>alert(1)</script>",
    "</title></script><img src=x onerror=alert(1)>",
    "\"' onmouseover=alert(1) x='\"",
    "<!-- --><!--rows--><!--after-->",
    "{{ 7*7 }}{% raw %}",
    "javascript:alert(1)",
    "&lt;b&gt;&amp;",
    "x" * 10_000,
    "\u202egnp.exe\u2066 \u05e9\u05dc\u05d5\u05dd \u0645\u0631\u062d\u0628\u0627",
    "a\x00b\x07c\x1b[31m\x7f\x85d\re",
    "👩‍👩‍👧 naïve 𝒳 \ud83d lone",
]


def hostile():
    """Values, names, ids and titles that try to be more than text, each in each place of some card."""
    summary = table(len(HARMFUL), len(HARMFUL))
    for row, text in zip(summary["anomalies"], HARMFUL, strict=True):
        row.update(_with_text(row, text))
    for row, text in zip(summary["rest"], HARMFUL, strict=True):
        row.update(id=text, name=text, main=text)
    summary["groups"] = [
        {**group, "label": text} for group, text in zip(summary["groups"], HARMFUL, strict=False)
    ]
    summary["columns"] = {
        "used": [column(text, text, text, values=text) for text in HARMFUL],
        "set_aside": [column(text, text, text, used=False, values=text) for text in HARMFUL],
        "model": HARMFUL[0],
    }
    summary["compared"]["columns"] = HARMFUL[:2]
    for row, text in zip(summary["compared"]["rows"], HARMFUL, strict=False):
        row.update(name=text, values=[text, text], near=[{"rank": 1, "name": text}])
    return {
        **summary,
        "title": " ".join(text[:40] for text in HARMFUL),
        "notes": HARMFUL,
        "made_by": f"whyodd explain '{HARMFUL[0]}'",
        "usual_source": HARMFUL[1],
        "threshold": {**summary["threshold"], "source": HARMFUL[2]},
    }


def _with_text(row, text):
    first, *others = row["reasons"]
    usual = {**reason("a", 1, 0.1)["usual"], "low": text, "high": text}
    told = {"name": text, "value": text, "expected": text, "judgement": f"at odds with {text}"}
    common = [{"value": text, "share": 0.71, "share_text": "71 %", "is_here": True}]
    pair = scatter(text, text)
    pair["x"]["ticks"] = pair["y"]["ticks"] = [[0.3, text], [0.6, text], [0.9, text]]
    link = {"rank": 1, "name": text}
    step = {"name": text, "from": text, "to": text}
    tokens = [{"text": text, "strength": 0.7}, {"text": text, "strength": 0.0}]
    absent = [{"term": text, "share_text": "1 %"}]
    values = [{"name": text, "value": text, "same": False}]
    return {
        "id": text,
        "name": text,
        "how_odd": text,
        "why": f"{text} is too high ({text}, expected about 3): 41 % of the outlierness",
        "reasons": [
            {**first, **told, "usual": usual, "strip": reason("a", 1, 0.1)["strip"], "scatter": pair},
            {**category(text, 0.08), **told, "common": common},
            *others,
        ],
        "neighbors": [
            {
                "name": text,
                "center": 17,
                "rank": None,
                "is_odd": False,
                "assignment_text": "1 %",
                "values": values,
            }
        ],
        "similar": {"label": text, "count": 9, "rows": [link]},
        "context": text,
        "change": {"sentence": text, "steps": [step], "outlierness_text": "3"},
        "change_missing": None,
        "rarity": None,
        "item": {"type": "text", "tokens": tokens, "absent": absent, "caption": text},
    }

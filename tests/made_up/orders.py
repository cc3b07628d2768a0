"""A table of orders, made up: numbers, a category, a constant and an identifier."""

import numpy as np
import polars as pl


def orders(rows=300, seed=0):
    """Orders of which three are odd: a huge amount, many items, and a country that nobody else has."""
    rng = np.random.default_rng(seed)
    amount, items = rng.normal(50, 5, rows).round(2), rng.poisson(3, rows)
    country = rng.choice(["DE", "FR", "NL"], rows).astype(object)
    amount[7], items[20], country[33] = 500.0, 40, "Atlantis"
    return pl.DataFrame(
        {
            "order": [f"A-{i:04d}" for i in range(rows)],
            "amount": amount,
            "items": items,
            "country": country.tolist(),
            "currency": ["EUR"] * rows,
        }
    )

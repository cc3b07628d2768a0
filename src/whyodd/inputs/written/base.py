"""What all conventions of written values share: texts in, values out, and the way back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, ClassVar

import numpy as np

if TYPE_CHECKING:
    from collections.abc import Callable

    from numpy.typing import NDArray

# How people write that there is no value.
NOTHING = frozenset({"", "-", "--", "na", "n/a", "nan", "nat", "none", "null"})
# Longer texts are no numbers and no dates; looking at them would take long.
LONGEST = 48


class Written:
    """How the values of one column are written; one convention for all of them.

    Attributes
    ----------
    noun : str
        What a value is.
    dtype : str
        Of the values that texts become: "float64", or "datetime64[us]".
    """

    noun: ClassVar[str] = "value"
    dtype: ClassVar[str] = "float64"

    @property
    def words(self) -> str:
        """The convention in a few words."""
        raise NotImplementedError

    def value(self, text: str) -> Any:
        """The value of one text; None if it does not fit."""
        raise NotImplementedError

    def expression(self, texts: Any) -> Any:
        """Polars expression of the values of an expression of texts; null where they do not fit."""
        raise NotImplementedError

    def quick(self, texts: Any) -> Any:
        """Polars expression for the values of texts in the usual form, null for all others, which are few."""
        return self.expression(texts)

    def show(self, value: Any, write: Callable[[float], str] | None = None) -> str:
        """A value in the form of the column; ``write`` makes a plain text of a number."""
        raise NotImplementedError

    def parse(self, texts: Any) -> Any:
        """Values of a Polars series of texts, or of an array (n,) of texts and None.

        Returns
        -------
        Polars series with nulls, or ndarray with NaN or NaT, where a text does not fit or there is none
        """
        if isinstance(texts, np.ndarray):
            return self._of_array(texts)
        import polars as pl

        frame = texts.to_frame("x")
        return self.completed(texts, frame.select(self.quick(pl.col("x"))).to_series()).alias(texts.name)

    def completed(self, texts: Any, values: Any) -> Any:
        """All values of a series of texts, given those that ``quick`` has read."""
        import polars as pl

        rows = (values.is_null() & texts.is_not_null()).arg_true()
        if len(rows) == 0:
            return values
        others = texts.gather(rows).to_frame("x").select(self.expression(pl.col("x"))).to_series()
        return values.scatter(rows, others) if others.is_not_null().any() else values

    def _of_array(self, texts: NDArray[np.object_]) -> NDArray[Any]:
        # Texts repeat, and each is read once.
        known = {text: self.value(text) for text in set(texts.tolist()) if isinstance(text, str)}
        nothing: Any = np.datetime64("NaT") if self.dtype.startswith("datetime") else np.nan
        values = [known.get(text) if isinstance(text, str) else None for text in texts.tolist()]
        return np.array([nothing if value is None else value for value in values], dtype=self.dtype)


def is_nothing(text: str) -> bool:
    """Whether a text says that there is no value."""
    return len(text) < LONGEST and text.strip().lower() in NOTHING

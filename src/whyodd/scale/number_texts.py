"""Many numbers as people write them, at once; ``explanations.sentences`` does the same for one."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

from whyodd.explanations.sentences import distinct_numbers, number

if TYPE_CHECKING:
    from numpy.typing import NDArray

    Floats = NDArray[np.float64]

_DIGITS = 3
# With more digits, the fraction of a scaled number is not exact enough to round it here.
_MOST_DIGITS = 9
# Powers of ten that are written without an exponent.
_SIZES = range(-5, 9)
# A fraction this close to a half may be rounded to either side.
_HALF = 1e-5


def number_texts(values: Floats) -> Any:
    """Texts (n,) as an Arrow array, each as :func:`whyodd.explanations.sentences.number` has it; NaN is null.

    Examples
    --------
    >>> import numpy as np
    >>> from whyodd.scale.number_texts import number_texts
    >>> number_texts(np.array([28.11, 12000.0, 0.05321, np.nan, 1e15])).to_pylist()
    ['28.1', '12000', '0.0532', None, '1e+15']
    """
    rounded, is_sure = _rounded(values, _DIGITS)
    return _written(rounded, ~is_sure, lambda places: [number(value) for value in values[places].tolist()])


def distinct_texts(values: Floats, others: Floats) -> tuple[Any, Any]:
    """Texts of pairs of numbers, (n,) each, with enough digits to distinguish the two.

    As :func:`whyodd.explanations.sentences.distinct_numbers`. NaN is null.

    Examples
    --------
    >>> import numpy as np
    >>> from whyodd.scale.number_texts import distinct_texts
    >>> values, others = distinct_texts(np.array([28.11, 1000.41]), np.array([13.18, 1000.38]))
    >>> values.to_pylist(), others.to_pylist()
    (['28.1', '1000.41'], ['13.2', '1000.38'])
    """
    first, first_sure = _rounded(values, _DIGITS)
    second, second_sure = _rounded(others, _DIGITS)
    is_sure = first_sure & second_sure
    for digits in range(_DIGITS + 1, _MOST_DIGITS + 1):
        places = np.flatnonzero((first == second) & is_sure)
        if places.size == 0:
            break
        first[places], first_sure = _rounded(values[places], digits)
        second[places], second_sure = _rounded(others[places], digits)
        is_sure[places] = first_sure & second_sure
    singly = (first == second) | ~is_sure
    places = np.flatnonzero(singly)
    pairs = [
        distinct_numbers(*pair) for pair in zip(values[places].tolist(), others[places].tolist(), strict=True)
    ]
    return tuple(
        _written(rounded, singly, lambda _, side=side: [pair[side] for pair in pairs])
        for side, rounded in enumerate((first, second))
    )


def _rounded(values: Floats, digits: int) -> tuple[Floats, NDArray[np.bool_]]:
    """Numbers with this many digits, or as many as stand before the point; and whether that is certain."""
    with np.errstate(divide="ignore", invalid="ignore"):
        sizes = np.floor(np.log10(np.abs(values)))
    is_plain = (sizes >= _SIZES.start) & (sizes < _SIZES.stop)
    decimals = np.where(is_plain, np.maximum(digits - 1 - sizes, 0.0), 0.0)
    factors = 10.0**decimals
    with np.errstate(invalid="ignore"):
        scaled = values * factors
        is_half = np.abs(np.abs(scaled - np.rint(scaled)) - 0.5) < _HALF
    return np.rint(scaled) / factors, ((is_plain & ~is_half) | (values == 0.0) | np.isnan(values))


def _written(rounded: Floats, singly: NDArray[np.bool_], write: Any) -> Any:
    """Rounded numbers as texts; a few are written one by one."""
    import pyarrow as pa
    import pyarrow.compute as pc

    texts = pc.cast(pa.array(np.where(rounded == 0.0, 0.0, rounded), from_pandas=True), pa.string())
    places = np.flatnonzero(singly)
    if places.size == 0:
        return texts
    return pc.replace_with_mask(texts, pa.array(singly), pa.array(write(places), pa.string()))

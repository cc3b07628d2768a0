"""One-class SVM on messages: which words make one odd, and which are missing."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import nullcontext
from numbers import Integral
from typing import TYPE_CHECKING, Any

import narwhals.stable.v1 as nw
import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.utils.validation import check_is_fitted

from whyodd.explainers.method import Task
from whyodd.explainers.registry import method_for_items
from whyodd.explanations.base import TEXTS, checked_ids
from whyodd.models.registry import OneClassSVM
from whyodd.progress import progress_bar
from whyodd.texts.decomposition import decompose
from whyodd.texts.explanation import TextExplanation
from whyodd.texts.tokens import Tokenizer
from whyodd.texts.vocabulary import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Mapping, Sequence
    from typing import Literal

    from numpy.typing import NDArray

    from whyodd.models.bandwidth.rules import SigmaRule
    from whyodd.network.waist import Decomposition
    from whyodd.texts.tokens import Token

    ExcludeSelf = Literal["auto"] | bool


class TextModel(OutlierMixin, BaseEstimator):  # type: ignore[misc]  # untyped base
    """One-class SVM on binary bags of stemmed terms: o = -log Σ_j α_j exp(-‖x - u_j‖² / (2σ²)).

    Parameters
    ----------
    nu : float, default 0.3
        At most this share of the training messages are outliers.
    sigma : float, {"nn", "median", "scale"} or callable, default 10.0
        Bandwidth of the Gaussian kernel, or a rule for it.
    min_df : int, default 5
        Terms are columns if they are in at least so many training messages.
    language : str or None, default "english"
        Of the Snowball stemmer; None for no stemming.
    normalize : bool, default False
        Divide each message by the root of its number of terms, so that long ones are not odd as such. All
        are at most √2 apart then: pass a ``sigma`` of about 1, or "median".

    Attributes
    ----------
    vocabulary_ : Vocabulary
        The terms.
    model_ : OneClassSVM
        The fitted detector on (n, terms + 1) CSR rows.
    network_ : DistanceNetwork
        Its network.

    Notes
    -----
    Kauffmann, Müller and Montavon, the intrusion detection experiment; the defaults are its settings. Terms
    never seen in training count: each is a dimension on which every known message is 0. They add to the
    distance and have relevance; dropping them would hide just the words that make a message odd.

    Examples
    --------
    >>> import whyodd
    >>> normal = ["the pump runs and the valve is open", "the pump stands and the valve is shut"] * 10
    >>> model = whyodd.TextModel(sigma=1.0).fit(normal)
    >>> e = model.explain(["the pump explodes and the valve is open"])
    >>> max(e.tokens(0), key=lambda token: token.relevance).text
    'explodes'
    >>> e.absent(0, 1)[0].term
    'run'
    """

    vocabulary_: Vocabulary
    model_: OneClassSVM
    messages_: tuple[str, ...]

    def __init__(
        self,
        nu: float = 0.3,
        sigma: SigmaRule = 10.0,
        min_df: int = 5,
        language: str | None = "english",
        *,
        normalize: bool = False,
    ) -> None:
        self.nu = nu
        self.sigma = sigma
        self.min_df = min_df
        self.language = language
        self.normalize = normalize

    def fit(self, texts: Any, y: None = None) -> TextModel:  # noqa: ARG002
        """Fit to (mostly) normal messages.

        Parameters
        ----------
        texts : sequence of str
            A list, an array, or a column of a data frame.
        y : None
            Ignored, for scikit-learn's sake.
        """
        if not isinstance(self.min_df, Integral) or isinstance(self.min_df, bool) or self.min_df < 1:
            raise ValueError(f"min_df={self.min_df!r}: expected a whole number of messages of at least 1.")
        messages = as_messages(texts)
        # An interrupted fit must not leave a model that looks fitted.
        self.__dict__.pop("model_", None)
        terms = [[token.term for token in tokens] for tokens in self._tokens(messages)]
        self.vocabulary_ = Vocabulary.of(terms, int(self.min_df))
        if len(self.vocabulary_) == 0:
            raise ValueError(
                f"No term is in at least min_df={self.min_df} of the {len(messages)} messages: there is "
                "nothing to learn. Pass more messages, or a smaller min_df."
            )
        rows = self._scaled(self.vocabulary_.encode(terms, unseen=False))
        model = OneClassSVM(nu=self.nu, sigma=self.sigma).fit(rows)
        self.messages_ = tuple(messages)
        self.model_ = model
        return self

    @property
    def network_(self) -> Any:
        """Network of the detector."""
        return self.model_.network_

    @property
    def threshold_(self) -> float:
        """Outlierness above which a message is an outlier."""
        return float(self.model_.threshold_)

    @property
    def offset_(self) -> float:
        """The threshold in scikit-learn's sign."""
        return float(self.model_.offset_)

    def outlierness(self, texts: Any) -> NDArray[np.float64]:
        """Outlierness o of each message (n,)."""
        rows = self._rows(texts)[1]
        return self.model_.outlierness(rows)

    def score_samples(self, texts: Any) -> NDArray[np.float64]:
        """-o (n,): high for normal messages, as scikit-learn has it."""
        return -self.outlierness(texts)

    def decision_function(self, texts: Any) -> NDArray[np.float64]:
        """Threshold minus o (n,): negative for outliers."""
        return self.score_samples(texts) - self.offset_

    def predict(self, texts: Any) -> NDArray[np.int64]:
        """-1 for outliers, +1 for all others (n,)."""
        return np.where(self.decision_function(texts) < 0.0, -1, 1)

    def explain(
        self,
        texts: Any,
        *,
        method: str = "dtd",
        exclude_self: ExcludeSelf = "auto",
        options: Mapping[str, Any] | None = None,
        random_state: int | None = None,
        names: Sequence[Any] | None = None,
        progress: bool = False,
        n_jobs: int | None = None,
    ) -> TextExplanation:
        """Relevance of every word and of the terms that are missing: Σ present + Σ absent + unexplained = o.

        Parameters
        ----------
        texts : sequence of str
            The messages.
        method : str, default "dtd"
            One of ``whyodd.explainers.EXPLAINERS``, on the bags of terms.
        exclude_self : {"auto", True, False}, default "auto"
            A training message may be a center of the model and would explain itself away. "auto" leaves it
            out if ``texts`` are those of the fit; True insists that they are; False never does.
        options : dict, optional
            Keywords of the method.
        random_state : int, optional
            Seed of what a method draws at random.
        names : sequence, optional
            What to call the messages.
        progress : bool, default False
            Show a progress bar with the time left, on standard error.
        n_jobs : int, optional
            Threads; all cores if None.
        """
        chosen, settings, random = method_for_items(self, method, options, random_state)
        messages = as_messages(texts)
        tokens, rows = self._rows(messages)
        own = self._own(messages, exclude_self)

        def decompose_some(some: sparse.csr_array, left_out: NDArray[np.intp] | None) -> Decomposition:
            task = Task(self.network_, some, own=left_out, random=random, n_jobs=n_jobs)
            return chosen.decompose(task, settings)

        bar = progress_bar(len(messages), "Explaining messages") if progress else nullcontext(None)
        with bar as report:
            parts = decompose(rows, own, report, decompose_some)
        return TextExplanation(
            messages=tuple(messages),
            all_tokens=tuple(map(tuple, tokens)),
            parts=parts,
            rows=np.arange(len(messages)),
            vocabulary=self.vocabulary_,
            threshold=-self.offset_,
            method=method,
            ids=checked_ids(names, len(messages), TEXTS),
        )

    def _rows(self, texts: Any) -> tuple[list[list[Token]], sparse.csr_array]:
        check_is_fitted(self, "model_")
        tokens = self._tokens(as_messages(texts))
        terms = [[token.term for token in words] for words in tokens]
        return tokens, self._scaled(self.vocabulary_.encode(terms))

    def _tokens(self, messages: Sequence[str]) -> list[list[Token]]:
        return list(map(Tokenizer(self.language), messages))

    def _scaled(self, rows: sparse.csr_array) -> sparse.csr_array:
        if not self.normalize:
            return rows
        norms = np.sqrt(rows.multiply(rows).sum(axis=1))
        return sparse.csr_array(sparse.diags_array(1.0 / np.where(norms > 0.0, norms, 1.0)) @ rows)

    def _own(self, messages: Sequence[str], exclude_self: ExcludeSelf) -> NDArray[np.intp] | None:
        if exclude_self not in ("auto", True, False):
            raise ValueError(f"exclude_self={exclude_self!r}: expected 'auto', True or False.")
        if not exclude_self:
            return None
        if tuple(messages) != self.messages_:
            if exclude_self is True:
                raise ValueError(
                    "exclude_self=True, but these are not the messages of the fit. Pass those, in their "
                    "order, or exclude_self=False for new ones."
                )
            return None
        own = np.full(len(messages), -1, dtype=np.intp)
        own[self.network_.rows] = np.arange(self.network_.n_centers)
        return own


def as_messages(texts: Any) -> list[str]:
    """Messages of a list, an array, or a column of a data frame; an error names what is no text."""
    if isinstance(texts, (str, bytes)):
        raise TypeError("One string came, expected a list of messages. Pass [text].")
    column: Any = nw.from_native(texts, pass_through=True, allow_series=True)
    if isinstance(column, (nw.DataFrame, nw.LazyFrame)):
        raise TypeError("A data frame came, expected one of its columns: pass frame['comment'].")
    if not isinstance(texts, Iterable):
        raise TypeError(f"Expected a list of messages, but {type(texts).__name__} came.")
    messages = column.to_list() if isinstance(column, nw.Series) else list(texts)
    if not messages:
        raise ValueError("There are no messages: pass at least one.")
    for i, message in enumerate(messages):
        if not isinstance(message, str):
            raise TypeError(
                f"Message {i} is no text but {message!r}. Leave it out, or pass an empty string for it."
            )
    return [str(message) for message in messages]

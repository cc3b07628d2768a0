"""Models of messages: which words make one odd, and which are missing."""

from __future__ import annotations

from collections.abc import Iterable
from contextlib import nullcontext
from dataclasses import replace
from numbers import Integral, Real
from typing import TYPE_CHECKING, Any

import narwhals.stable.v1 as nw
import numpy as np
from scipy import sparse
from sklearn.base import BaseEstimator, OutlierMixin
from sklearn.utils.metaestimators import available_if
from sklearn.utils.validation import check_is_fitted

from whyodd.explainers.method import Task
from whyodd.explainers.registry import method_for_items
from whyodd.explanations.base import TEXTS, checked_ids
from whyodd.io.defaults import with_defaults
from whyodd.models.registry import OneClassSVM
from whyodd.network.waist import score_rows
from whyodd.progress import progress_bar
from whyodd.texts.decomposition import TextParts, decompose
from whyodd.texts.explanation import TextExplanation
from whyodd.texts.surprise import Surprise
from whyodd.texts.tokens import Tokenizer
from whyodd.texts.vocabulary import Vocabulary

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping, Sequence
    from typing import Literal

    from numpy.typing import NDArray

    from whyodd.models.bandwidth.rules import SigmaRule
    from whyodd.models.tail import ScoreDistribution
    from whyodd.network.waist import Decomposition
    from whyodd.texts.tokens import Token

    ExcludeSelf = Literal["auto"] | bool

# The settings of the paper.
_PAPER_NU, _PAPER_SIGMA, _PAPER_MIN_DF = 0.3, 10.0, 5
_BLOCK = 2_000  # messages that are cut into words at a time


class TextModel(OutlierMixin, BaseEstimator):  # type: ignore[misc]  # untyped base
    """Messages judged by their most surprising words, compared with normal messages of their length.

    The surprise s of a word, in nats, is how rare it is in normal messages and how unusual the way it is
    written (:class:`whyodd.texts.usage.TermUsage`). Outlierness is their mean s^4 over what is usual at that
    length (:class:`whyodd.texts.surprise.Surprise`): 1 on a usual message, long or short.

    With ``paper=True`` it is the model of Kauffmann, Müller and Montavon, a one-class SVM on binary bags of
    stemmed terms: o = -log Σ_j α_j exp(-‖x - u_j‖² / (2σ²)), which grows with the length of a message.

    Parameters
    ----------
    nu : float, optional
        For the one-class SVM: at most this share of the training messages are outliers; 0.3 by default.
    sigma : float, {"nn", "median", "scale"} or callable, optional
        For the one-class SVM: bandwidth of the Gaussian kernel, or a rule for it; 10 by default.
    min_df : int, optional
        Number of training messages that must contain a term to learn it: 1 by default, 5 in the paper.
    language : str or None, default "english"
        Language of the Snowball stemmer; None for no stemming.
    normalize : bool, default False
        For the one-class SVM: divide each message by the root of its number of terms. Messages are then at
        most √2 apart: pass a ``sigma`` of about 1, or "median".
    paper : bool, default False
        The paper's model and settings. ``nu``, ``sigma`` and ``normalize`` belong to that model, and choose
        it too.
    subwords : bool, default False
        Judge runs of five letters instead of whole words, so that misspelled words are known by their parts.
    false_alarms : float, default 0.01
        Share of normal messages that may exceed the threshold.

    Attributes
    ----------
    vocabulary_ : Vocabulary
        The terms.
    threshold_ : float
        Outlierness above which a message is an outlier.
    distribution_ : ScoreDistribution
        Outlierness of the training messages, each judged without itself; not for the paper's model.
    surprise_ : Surprise
        What was learned; not for the paper's model.
    model_ : OneClassSVM
        The fitted detector on (n, terms + 1) CSR rows; only for the paper's model.
    network_ : DistanceNetwork
        Its network.

    Notes
    -----
    Terms never seen in training count, in both models: dropping them would hide exactly the words that make a
    message odd.

    Examples
    --------
    >>> import whyodd
    >>> normal = ["the pump runs and the valve is open", "the pump stands and the valve is shut"] * 10
    >>> model = whyodd.TextModel().fit(normal)
    >>> e = model.explain(["the pump explodes and the valve is open"])
    >>> max(e.tokens(0), key=lambda token: token.relevance).text
    'explodes'
    >>> print(e.why(0))
    'explodes' (... %): in none of 20 messages...
    """

    vocabulary_: Vocabulary
    surprise_: Surprise
    model_: OneClassSVM
    messages_: tuple[str, ...]

    def __init__(
        self,
        nu: float | None = None,
        sigma: SigmaRule | None = None,
        min_df: int | None = None,
        language: str | None = "english",
        *,
        normalize: bool = False,
        paper: bool = False,
        subwords: bool = False,
        false_alarms: float = 0.01,
    ) -> None:
        self.nu = nu
        self.sigma = sigma
        self.min_df = min_df
        self.language = language
        self.normalize = normalize
        self.paper = paper
        self.subwords = subwords
        self.false_alarms = false_alarms

    def fit(self, texts: Any, y: None = None) -> TextModel:  # noqa: ARG002
        """Fit to (mostly) normal messages.

        Parameters
        ----------
        texts : sequence of str
            A list, an array, or a column of a data frame.
        y : None
            Ignored; part of scikit-learn's interface.
        """
        self._check_parameters()
        messages = as_messages(texts)
        # An interrupted fit must not leave a model that looks fitted.
        self.__dict__.pop("model_", None)
        self.__dict__.pop("surprise_", None)
        if self.is_paper:
            self._fit_paper(self._tokens(messages))
        else:
            self._fit_surprise(messages)
        self.messages_ = tuple(messages)
        return self

    def _fit_surprise(self, messages: Sequence[str]) -> None:
        if not any(map(Tokenizer(self.language), messages)):
            raise ValueError(f"None of the {len(messages)} messages has a word: there is nothing to learn.")
        starts = range(0, len(messages), _BLOCK)
        learned = Surprise.of(
            lambda: (self._tokens(messages[start : start + _BLOCK]) for start in starts),
            self._least,
            subwords=self.subwords,
        )
        self._check_terms(learned.usage.vocabulary, len(messages))
        self.vocabulary_, self.surprise_ = learned.usage.vocabulary, learned

    def _fit_paper(self, tokens: list[list[Token]]) -> None:
        terms = [[token.term for token in words] for words in tokens]
        vocabulary = Vocabulary.of(terms, self._least)
        self._check_terms(vocabulary, len(tokens))
        self.vocabulary_ = vocabulary
        rows = self._scaled(vocabulary.encode(terms, unseen=False))
        nu = _PAPER_NU if self.nu is None else self.nu
        self.model_ = OneClassSVM(nu=nu, sigma=_PAPER_SIGMA if self.sigma is None else self.sigma).fit(rows)

    def _check_parameters(self) -> None:
        least, allowed = self.min_df, self.false_alarms
        if least is not None and (not isinstance(least, Integral) or isinstance(least, bool) or least < 1):
            raise ValueError(f"min_df={least!r}: expected a whole number of messages of at least 1.")
        if not isinstance(allowed, Real) or not 0.0 < allowed <= 0.5:
            raise ValueError(
                f"false_alarms={allowed!r}: expected a share of the messages, above 0 and at most 0.5."
            )
        if self.is_paper and self.subwords:
            raise ValueError(
                "subwords does not work with the paper's model, which uses whole words. Leave it out."
            )

    def _check_terms(self, vocabulary: Vocabulary, n_messages: int) -> None:
        if len(vocabulary) == 0:
            raise ValueError(
                f"No term is in at least min_df={self._least} of the {n_messages} messages: there is "
                "nothing to learn. Pass more messages, or a smaller min_df."
            )

    @property
    def is_paper(self) -> bool:
        """Whether it is the paper's model: requested, or implied by one of its settings."""
        return bool(self.paper or self.normalize or self.nu is not None or self.sigma is not None)

    @property
    def _least(self) -> int:
        return (_PAPER_MIN_DF if self.is_paper else 1) if self.min_df is None else int(self.min_df)

    @property
    def network_(self) -> Any:
        """Network of the paper's detector."""
        self._check_fitted()
        if not self.is_paper:
            raise AttributeError("Only the paper's model has a network: pass paper=True.")
        return self.model_.network_

    @property
    def distribution_(self) -> ScoreDistribution:
        """Outlierness of the training messages, each judged without itself."""
        if not hasattr(self, "surprise_"):
            raise AttributeError(
                "The paper's model does not record how odd normal messages are. Leave paper out."
            )
        return self.surprise_.distribution

    @property
    def threshold_(self) -> float:
        """Outlierness above which a message is an outlier."""
        self._check_fitted()
        return float(self.model_.threshold_ if self.is_paper else self._threshold)

    @property
    def offset_(self) -> float:
        """The threshold in scikit-learn's sign."""
        return -self.threshold_ if not self.is_paper else float(self.model_.offset_)

    @property
    def _threshold(self) -> float:
        return self.distribution_.threshold(self.false_alarms)

    @available_if(lambda self: not self.is_paper)  # type: ignore[untyped-decorator]
    def p_values(self, texts: Any) -> NDArray[np.float64]:
        """Share of normal messages (n,) that are at least as odd; not for the paper's model."""
        self._check_fitted()
        return self.distribution_.p_values(self.outlierness(texts))

    def outlierness(self, texts: Any) -> NDArray[np.float64]:
        """Outlierness o of each message (n,)."""
        self._check_fitted()
        if self.is_paper:
            return self.model_.outlierness(self._rows(texts)[1])
        return self.score_messages(as_messages(texts))

    def score_messages(
        self, messages: Sequence[str], *, own: bool = False, report: Callable[[int], None] | None = None
    ) -> NDArray[np.float64]:
        """Outlierness (n,), in batches of messages.

        Parameters
        ----------
        messages : sequence of str
        own : bool, default False
            These are the messages of the fit, and each is judged without itself.
        report : callable, optional
            Called with the number of finished messages.
        """
        scores = np.empty(len(messages))
        for start in range(0, len(messages), _BLOCK):
            some = slice(start, min(start + _BLOCK, len(messages)))
            scores[some] = self._score_some(messages, some, own)
            if report is not None:
                report(some.stop)
        return scores

    def _score_some(self, messages: Sequence[str], some: slice, own: bool) -> NDArray[np.float64]:
        tokens = self._tokens(messages[some])
        if not self.is_paper:
            return self.surprise_.outlierness(tokens, own=own)
        rows = self._scaled(self.vocabulary_.encode([[word.term for word in words] for words in tokens]))
        left_out = self._own_centers(len(messages))[some] if own else None
        return np.asarray(score_rows(self.network_, rows, own=left_out))

    def score_samples(self, texts: Any) -> NDArray[np.float64]:
        """-o (n,): high for normal messages, as in scikit-learn."""
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
            out if ``texts`` are the training messages; True insists that they are; False never leaves it out.
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
        self._check_fitted()
        messages = as_messages(texts)
        rows = np.arange(len(messages)) if self._is_own(messages, exclude_self) else None
        ids = checked_ids(names, len(messages), TEXTS)
        with progress_bar(len(messages), "Explaining messages") if progress else nullcontext(None) as report:
            e = self._explain(
                messages,
                rows,
                report,
                method=method,
                options=options,
                random_state=random_state,
                n_jobs=n_jobs,
            )
        return replace(e, ids=ids)

    def _explain(
        self,
        messages: Sequence[str],
        own: NDArray[np.intp] | None,
        report: Callable[[int], None] | None = None,
        *,
        method: str = "dtd",
        options: Mapping[str, Any] | None = None,
        random_state: int | None = None,
        n_jobs: int | None = None,
    ) -> TextExplanation:
        """Explain messages; ``own``: their positions in training, so that each is judged without itself."""
        chosen, settings, random = method_for_items(self, method, options, random_state)
        if not self.is_paper:
            if method != "dtd":
                raise ValueError(
                    f"method={method!r} works only with the paper's model. Pass paper=True, or leave it out."
                )
            return self._explain_surprise(messages, own is not None, report)
        tokens, rows = self._rows(messages)

        def decompose_some(some: sparse.csr_array, left_out: NDArray[np.intp] | None) -> Decomposition:
            task = Task(self.network_, some, own=left_out, random=random, n_jobs=n_jobs)
            return chosen.decompose(task, settings)

        centers = None if own is None else self._own_centers(len(self.messages_))[own]
        return TextExplanation(
            messages=tuple(messages),
            all_tokens=tuple(map(tuple, tokens)),
            parts=decompose(rows, centers, report, decompose_some),
            rows=np.arange(len(messages)),
            vocabulary=self.vocabulary_,
            threshold=-self.offset_,
            method=method,
        )

    def learned_from(self, texts: Any) -> bool:
        """Whether these are the training messages, in their order."""
        self._check_fitted()
        return tuple(as_messages(texts)) == self.messages_

    def explain_some(
        self, messages: Sequence[str], rows: NDArray[np.intp], *, own: bool = False, **options: Any
    ) -> TextExplanation:
        """Explain some of the messages, given by their positions.

        Options are ``method``, ``options``, ``random_state`` and ``n_jobs`` of :meth:`explain`.
        ``own``: they are those of the fit, and each is judged without itself.
        """
        some = [messages[row] for row in rows]
        return self._explain(some, np.asarray(rows) if own else None, **options)

    def _explain_surprise(
        self, messages: Sequence[str], own: bool, report: Callable[[int], None] | None
    ) -> TextExplanation:
        tokens: list[list[Token]] = []
        parts, relevance = [], []
        for start in range(0, len(messages), _BLOCK):
            some = self._tokens(messages[start : start + _BLOCK])
            found, words = self.surprise_.decompose(some, own=own)
            tokens += some
            parts.append(found)
            relevance += words
            if report is not None:
                report(len(tokens))
        return TextExplanation(
            messages=tuple(messages),
            all_tokens=tuple(map(tuple, tokens)),
            parts=TextParts.joined(parts),
            rows=np.arange(len(messages)),
            vocabulary=self.vocabulary_,
            threshold=self.threshold_,
            word_relevance=tuple(relevance),
            usage=self.surprise_.usage,
            subwords=self.subwords,
        )

    def __setstate__(self, state: dict[str, Any]) -> None:
        # Files of earlier versions know the paper's model alone.
        super().__setstate__(with_defaults(type(self), {"paper": "paper" not in state, **state}))

    def _check_fitted(self) -> None:
        check_is_fitted(self, "model_" if self.is_paper else "surprise_")

    def _rows(self, texts: Any) -> tuple[list[list[Token]], sparse.csr_array]:
        self._check_fitted()
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

    def _is_own(self, messages: Sequence[str], exclude_self: ExcludeSelf) -> bool:
        """Whether these are the training messages, to be judged without themselves."""
        if exclude_self not in ("auto", True, False):
            raise ValueError(f"exclude_self={exclude_self!r}: expected 'auto', True or False.")
        if not exclude_self:
            return False
        if tuple(messages) == self.messages_:
            return True
        if exclude_self is True:
            raise ValueError(
                "exclude_self=True, but these are not the training messages. Pass those, in their order, or "
                "exclude_self=False for new ones."
            )
        return False

    def _own_centers(self, n: int) -> NDArray[np.intp]:
        """The center that each message of the fit is, or -1."""
        own = np.full(n, -1, dtype=np.intp)
        own[self.network_.rows] = np.arange(self.network_.n_centers)
        return own


def as_messages(texts: Any) -> list[str]:
    """Messages in a list, an array, or a column of a data frame; an error names what is not text."""
    if isinstance(texts, (str, bytes)):
        raise TypeError("Expected a list of messages, got one string. Pass [text].")
    column: Any = nw.from_native(texts, pass_through=True, allow_series=True)
    if isinstance(column, (nw.DataFrame, nw.LazyFrame)):
        raise TypeError("Expected a column of messages, got a data frame. Pass frame['comment'].")
    if not isinstance(texts, Iterable):
        raise TypeError(f"Expected a list of messages, got {type(texts).__name__}.")
    messages = column.to_list() if isinstance(column, nw.Series) else list(texts)
    if not messages:
        raise ValueError("There are no messages: pass at least one.")
    for i, message in enumerate(messages):
        if not isinstance(message, str):
            raise TypeError(
                f"Expected a text as message {i}, got {message!r}. Leave it out, or pass an empty "
                "string for it."
            )
    return [str(message) for message in messages]

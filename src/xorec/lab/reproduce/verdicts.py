"""Verdicts: does a claim of the paper hold in a comparison, by which figures?"""

from __future__ import annotations

from collections.abc import Sequence

from xorec.lab.reproduce.comparison import Comparison, MethodResult
from xorec.lab.reproduce.sections import Claim, Verdict

LEVEL = 0.05
"""A difference with a larger p-value is no difference."""


def best_of_all(
    comparison: Comparison, text: str, proposed: str, others: Sequence[str], bits: int | None = None
) -> Claim:
    """Is `proposed` ahead of all the `others`, in NDCG at every cut-off and in HR@10?

    holds: everywhere, and significantly at the main metric. holds in part: somewhere.
    """
    mine = comparison.result(proposed, bits)
    rivals = [comparison.result(other, bits) for other in others]
    ks = comparison.dataset.plan.ks
    metrics = [f"ndcg@{k}" for k in ks] + [f"hr@{ks[0]}"]
    ahead = {m: all(mine.mean(m) > rival.mean(m) for rival in rivals) for m in metrics}
    main = comparison.dataset.main_metric
    best = max(rivals, key=lambda rival: rival.mean(main))
    sure = comparison.p_value(best, mine) < LEVEL
    beaten = [rival for rival in rivals if mine.mean(main) > rival.mean(main)]
    if all(ahead.values()):
        verdict: Verdict = "holds" if sure else "holds in part"
    else:
        verdict = "holds in part" if any(ahead.values()) or beaten else "does not hold"
    return Claim(text, verdict, _evidence(comparison, mine, best, beaten, rivals, ahead))


def _evidence(
    comparison: Comparison,
    mine: MethodResult,
    best: MethodResult,
    beaten: list[MethodResult],
    rivals: list[MethodResult],
    ahead: dict[str, bool],
) -> str:
    main = comparison.dataset.main_metric
    name = main.upper()
    gain = mine.mean(main) / best.mean(main) - 1 if best.mean(main) else float("inf")
    p = comparison.p_value(best, mine)
    sure = "p < 0.001" if p < 0.001 else f"p = {p:.3f}"
    text = (
        f"{name} {mine.mean(main):.4f}, the best other ({best.label}) {best.mean(main):.4f}: "
        f"{gain:+.1%}, {sure}"
    )
    behind = [metric.upper() for metric, yes in ahead.items() if not yes]
    if not behind:
        return f"{text}; ahead at every cut-off."
    if len(beaten) < len(rivals):
        missed = ", ".join(rival.label for rival in rivals if rival not in beaten)
        return f"{text}; behind {missed} at {name}."
    return f"{text}; not ahead at {', '.join(behind)}."

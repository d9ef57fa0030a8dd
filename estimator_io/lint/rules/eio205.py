"""EIO205: cache behind random numbers.

A cache replays what was made in the first epoch: the same crops and flips for ever, as if there
were no augmentation. A random stage belongs behind the cache, what is costly and always the same
in front. The `stateless` functions give the same numbers for the same seed, with or without a
cache, and are not reported.
"""

from __future__ import annotations

from collections.abc import Iterator

from estimator_io.lint.analysis.effects import Effect
from estimator_io.lint.analysis.program import Program
from estimator_io.lint.analysis.queries import map_traits
from estimator_io.lint.finding import Grade
from estimator_io.lint.rule import Hit, rule

__all__ = ["check"]


@rule(
    code="EIO205",
    name="cache-after-random",
    grade=Grade.WRONG,
    why=(
        "This cache keeps the random numbers drawn in the first epoch, so every epoch is "
        "augmented alike."
    ),
    remedy="Put cache() in front of the random map.",
    before="""
dataset = dataset.map(lambda image: tf.image.random_flip_left_right(image)).cache()
""",
    after="""
dataset = dataset.cache().map(lambda image: tf.image.random_flip_left_right(image))
""",
)
def check(program: Program) -> Iterator[Hit]:
    """Yields caches with a random map in front."""
    for path, index, call in program.calls("cache"):
        for earlier in path.calls[:index]:
            traits = map_traits(earlier) if earlier.op == "map" else None
            if traits is not None and Effect.RANDOM in traits.effects:
                yield Hit(call.node)
                break

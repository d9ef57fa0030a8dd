"""Each known cause, planted in one of two twins that are equal otherwise, is named."""

import re

import pytest
import tensorflow as tf

import migration
from tests.migration.compare.conftest import CLASSES, Recipe, estimator, input_fn, twin

ADAM = {"optimizer": "adam", "rate": 0.01}
SOFT = {"output": "probabilities"}
# name, what the Estimator is made from, what the model is made from, what the evidence says
PLANTED = [
    ("loss reduction", Recipe(reduction="sum"), Recipe(), "0.125 times"),
    ("loss reduction", Recipe(), Recipe(reduction="sum"), "8 times"),
    ("regularisation", Recipe(), Recipe(l2=0.01), "model adds 0.0666"),
    ("regularisation", Recipe(l2=0.01), Recipe(), "0.01 . sum"),
    ("Adam epsilon", Recipe(**ADAM, epsilon=1e-8), Recipe(**ADAM), "1e-08 .* 1e-07"),
    ("Adagrad initial accumulator", Recipe("adagrad", accumulator=0.5), Recipe("adagrad"), "0.5"),
    ("batch-norm epsilon", Recipe(norm=True, norm_epsilon=1e-5), Recipe(norm=True), "with 1e-05"),
    ("batch-norm momentum", Recipe(norm=True, norm_momentum=0.9), Recipe(norm=True), "is 0.9,"),
    ("moving statistics not updated", Recipe(norm=True, update_ops=False), Recipe(norm=True), ""),
    ("dropout in evaluation", Recipe(dropout=0.3, dropout_always=True), Recipe(), "Estimator gave"),
    ("dropout in evaluation", Recipe(), Recipe(dropout=0.3, dropout_always=True), "model gave"),
    ("dropout in training", Recipe(), Recipe(dropout=0.3), "Only the model"),
    ("learning-rate schedule", Recipe(decay=0.9), Recipe(), "0.1, 0.09, 0.081"),
    ("learning-rate schedule", Recipe(**ADAM, decay=0.9), Recipe(**ADAM), "0.01, 0.009, 0.0081"),
    ("learning rate", Recipe("momentum"), Recipe("momentum", rate=0.2), "2 times"),
    ("gradient clipping", Recipe(clip=0.2), Recipe(), "global norm 0.2"),
    ("label smoothing", Recipe(), Recipe(smoothing=0.1), "0.000 .* 0.100"),
    ("from_logits", Recipe(**SOFT), Recipe(**SOFT, from_logits=True), "applied twice"),
    ("from_logits", Recipe(), Recipe(from_logits=False), "as logits"),
    ("optimizer", Recipe("adagrad"), Recipe("rmsprop"), "adagrad, the model has rmsprop"),
]


@pytest.mark.parametrize(
    ("name", "recipe", "other", "evidence"),
    PLANTED,
    ids=[f"{at}-{each[0].replace(' ', '-')}" for at, each in enumerate(PLANTED)],
)
def test_a_planted_cause_is_named_first(name, recipe, other, evidence, tmp_path):
    found = migration.compare(estimator(recipe, tmp_path), twin(other), input_fn, 4)
    assert not found.equal
    assert found.exit_code == 1
    assert found.causes, found.text()
    assert found.causes[0].name == name, found.text()
    assert re.search(evidence, found.causes[0].evidence), found.causes[0].evidence


def test_betas_that_float32_rounds_are_told_where_a_tolerance_asks_for_it(tmp_path):
    recipe, other = Recipe(**ADAM), Recipe(**ADAM, float32_betas=False)
    found = migration.compare(
        estimator(recipe, tmp_path), twin(other), input_fn, 10, rtol=1e-7, atol=1e-8
    )
    assert [cause.name for cause in found.causes] == ["Adam beta_2"]


def test_a_divisor_by_weights_is_told_from_the_batch_size(tmp_path):
    found = migration.compare(
        estimator(Recipe(), tmp_path),
        twin(Recipe()),
        lambda: input_fn(weighted=True),
        3,
        weight_column="weight",
    )
    assert found.causes[0].name == "loss reduction"
    assert "divided by the number of weights other than 0" in found.causes[0].evidence


def test_other_starting_weights_are_told_where_the_model_keeps_its_own(tmp_path):
    found = migration.compare(
        estimator(Recipe(), tmp_path), twin(Recipe(start=2.0)), input_fn, 2, start="own"
    )
    assert found.parting.step == 0
    assert found.causes[0].name == "starting weights"
    copied = migration.compare(estimator(Recipe(), tmp_path), twin(Recipe(start=2.0)), input_fn, 2)
    assert copied.equal
    assert any(note.startswith("Initialisers differ: hidden/kernel") for note in copied.notes)


def test_slots_of_a_checkpoint_that_the_model_lacks_are_told(tmp_path):
    recipe = Recipe(**ADAM)
    trained = estimator(recipe, tmp_path)
    trained.train(input_fn, steps=3)
    found = migration.compare(trained, twin(recipe), input_fn, 3)
    assert "optimizer slots" in [cause.name for cause in found.causes]
    assert found.parting.step == 1


WORDS = ["red", "green", "blue", "black", "white"]


def word_model_fn(features, labels, mode):
    """Words by number, the unknown ones behind them, as a vocabulary column has it."""
    v1 = tf.compat.v1
    table = tf.lookup.StaticVocabularyTable(
        tf.lookup.KeyValueTensorInitializer(WORDS, tf.range(len(WORDS), dtype=tf.int64)), 1
    )
    embeddings = v1.get_variable("words/embeddings", [len(WORDS) + 1, 4])
    net = tf.nn.embedding_lookup(embeddings, table.lookup(features["word"]))
    logits = v1.layers.dense(net, CLASSES, name="logits")
    if mode == tf.estimator.ModeKeys.PREDICT:
        return tf.estimator.EstimatorSpec(mode, {"logits": logits})
    loss = v1.losses.sparse_softmax_cross_entropy(labels, logits)
    optimizer = v1.train.GradientDescentOptimizer(0.1)
    train_op = optimizer.minimize(loss, v1.train.get_global_step())
    return tf.estimator.EstimatorSpec(mode, loss=loss, train_op=train_op)


def word_model(vocabulary):
    keras = tf.keras
    word = keras.Input((), name="word", dtype="string")
    numbers = keras.layers.StringLookup(vocabulary=vocabulary)(word)
    net = keras.layers.Embedding(len(WORDS) + 1, 4, name="words")(numbers)
    model = keras.Model({"word": word}, keras.layers.Dense(CLASSES, name="logits")(net))
    model.compile(
        keras.optimizers.SGD(0.1),
        keras.losses.SparseCategoricalCrossentropy(from_logits=True),
    )
    return model


def words(count=6):
    given = [*WORDS, "unheard"][:count] * 4
    labels = [at % CLASSES for at in range(len(given))]
    return tf.data.Dataset.from_tensor_slices(({"word": given}, labels)).batch(12).repeat()


def test_unknown_words_in_another_place_are_told(tmp_path):
    found = migration.compare(
        tf.estimator.Estimator(word_model_fn, str(tmp_path)), word_model(WORDS), words, 2
    )
    assert found.causes[0].name == "vocabulary order"
    assert "moved by +1" in found.causes[0].evidence


def test_words_in_another_order_are_told_by_the_rows_they_reach(tmp_path):
    # Which cause explains most depends on the first weights, of either.
    tf.keras.utils.set_random_seed(1)
    config = tf.estimator.RunConfig(tf_random_seed=1)
    found = migration.compare(
        tf.estimator.Estimator(word_model_fn, str(tmp_path), config),
        word_model(["white", "black", "red", "blue", "green"]),
        lambda: words(3),
        2,
    )
    assert found.causes[0].name == "vocabulary order"
    assert "alone" in found.causes[0].evidence

"""Who earns more than 50,000 dollars a year? A canned estimator on census data, as of 2018.

Feature columns, tf.app.flags, CSV lines decoded one by one, a one-shot iterator. It knows nothing
of estimator_io. Run it with `estimator-io run examples/legacy/census.py`; on TensorFlow 2.15
`python` does too. docs/legacy.md shows what two lines change.
"""

import os
import tempfile

import tensorflow.compat.v1 as tf

flags = tf.app.flags
FLAGS = flags.FLAGS
flags.DEFINE_string("data_dir", "examples/data/adult", "Folder of adult.data and adult.test.")
flags.DEFINE_string("model_dir", None, "Where checkpoints go; a temporary folder if not given.")
flags.DEFINE_integer("batch_size", 40, "Rows a batch.")
flags.DEFINE_integer("train_steps", 60, "Steps to train.")

NAMES = (
    "age workclass fnlwgt education education_num marital_status occupation relationship race"
    " gender capital_gain capital_loss hours_per_week native_country income"
).split()
DEFAULTS = [[0], [""], [0], [""], [0], [""], [""], [""], [""], [""], [0], [0], [0], [""], [""]]
CLASSES = {"<=50K": 0, ">50K": 1, "<=50K.": 0, ">50K.": 1}


def parse_csv(line):
    fields = tf.decode_csv(tf.strings.regex_replace(line, ", ", ","), record_defaults=DEFAULTS)
    features = dict(zip(NAMES, fields))
    income = features.pop("income")
    return features, tf.cast(tf.strings.regex_full_match(income, r">50K\.?"), tf.int64)


def input_fn(path, training):
    dataset = tf.data.TextLineDataset(path)
    dataset = dataset.filter(lambda line: tf.strings.regex_full_match(line, "[0-9].*"))
    dataset = dataset.map(parse_csv)
    if training:
        dataset = dataset.shuffle(1000)
        dataset = dataset.repeat()
    dataset = dataset.batch(FLAGS.batch_size)
    iterator = tf.data.make_one_shot_iterator(dataset)
    return iterator.get_next()


def input_fn_for(path, training):
    return lambda: input_fn(path, training)


def build_columns():
    column = tf.feature_column
    age = column.numeric_column("age")
    ages = column.bucketized_column(age, [18, 25, 30, 35, 40, 45, 50, 55, 60, 65])
    education = column.categorical_column_with_hash_bucket("education", 30)
    occupation = column.categorical_column_with_hash_bucket("occupation", 30)
    relationship = column.categorical_column_with_vocabulary_list(
        "relationship",
        ["Husband", "Not-in-family", "Wife", "Own-child", "Unmarried", "Other-relative"],
    )
    crossed = column.crossed_column(["education", "occupation"], 100)
    wide = [ages, education, occupation, relationship, crossed]
    deep = [
        column.numeric_column("education_num"),
        column.numeric_column("hours_per_week"),
        column.indicator_column(relationship),
        column.embedding_column(occupation, dimension=8),
    ]
    return wide, deep


def main(_):
    tf.logging.set_verbosity(tf.logging.ERROR)
    wide, deep = build_columns()
    model_dir = FLAGS.model_dir or tempfile.mkdtemp()
    estimator = tf.estimator.DNNLinearCombinedClassifier(
        model_dir=model_dir,
        linear_feature_columns=wide,
        dnn_feature_columns=deep,
        dnn_hidden_units=[32, 16],
        config=tf.estimator.RunConfig(tf_random_seed=1),
    )
    train_spec = tf.estimator.TrainSpec(
        input_fn_for(os.path.join(FLAGS.data_dir, "adult.data"), True), max_steps=FLAGS.train_steps
    )
    eval_spec = tf.estimator.EvalSpec(
        input_fn_for(os.path.join(FLAGS.data_dir, "adult.test"), False), steps=None
    )
    metrics, _ = tf.estimator.train_and_evaluate(estimator, train_spec, eval_spec)
    print("accuracy %.2f after %d steps" % (metrics["accuracy"], metrics["global_step"]))


if __name__ == "__main__":
    tf.disable_v2_behavior()
    tf.app.run()

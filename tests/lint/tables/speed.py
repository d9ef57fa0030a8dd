"""EIO1xx: for each code what must not be flagged, then what must, with `# <-` on the lines."""

CLEAN = {
    "EIO101": [
        "ds = tf.data.TFRecordDataset(p).batch(8).prefetch(1)",
        "def f(files):\n    ds = tf.data.TFRecordDataset(files)\n    ds = ds.batch(8)\n"
        "    ds = ds.map(g)\n    ds = ds.prefetch(tf.data.AUTOTUNE)\n    return ds",
        # another function of the file adds it
        "def rows(p):\n    return tf.data.TFRecordDataset(p).batch(8)\n\n"
        "def train(p):\n    return rows(p).prefetch(2)",
        # code that is not in the file may add it
        "from lib import finish\nds = finish(tf.data.TFRecordDataset(p).batch(8))",
        "ds = tf.data.TFRecordDataset(p).batch(8).apply(finish)",
        # the batch inside a window is no end of a pipeline
        "ds = tf.data.Dataset.range(9).window(3).flat_map(lambda w: w.batch(3))",
        "ds = tf.data.TFRecordDataset(p).batch(8).map(g).unbatch()",
        # a decorator adds it
        "def ahead(f):\n    def g(*a):\n        return f(*a).prefetch(2)\n    return g\n@ahead\n"
        "def input_fn(p):\n    return tf.data.TFRecordDataset(p).batch(8)",
        "from lib import ahead\n@ahead(2)\ndef input_fn(p):\n"
        "    return tf.data.TFRecordDataset(p).batch(8)",
        # one step of a pipeline that others start and end
        "def step(dataset, size):\n    return dataset.shuffle(9).batch(size)",
        # not a Dataset at all
        "import pandas as pd\ndf = pd.read_csv(p)\nfor part in df.batch(3):\n    print(part)",
        "import torch\nloader = make()\nfor x in loader.shuffle(9).batch(4):\n    pass",
        "ds = tf.data.TFRecordDataset(p).batch(8)\nif fast:\n    ds = ds.prefetch(1)",
        "ds = tf.data.experimental.make_csv_dataset(p, 32)",
    ],
    "EIO102": [
        "ds = tf.data.TFRecordDataset(p).map(f, num_parallel_calls=4)",
        "ds = tf.data.TFRecordDataset(p).map(f, tf.data.AUTOTUNE)",
        "ds = tf.data.TFRecordDataset(p).map(f, **options)",
        "ds = tf.data.TFRecordDataset(p).map(*arguments)",
        "ds = tf.data.TFRecordDataset(p).apply(tf.data.experimental.map_and_batch(f, 8))",
        "import multiprocessing\npool = multiprocessing.Pool()\npool.map(f, rows)",
        "df = load()\ndf = df.map(str.lower)",
    ],
    "EIO103": [
        "ds = tf.data.TFRecordDataset(p).prefetch(9).batch(8).prefetch(1)",
        "ds = tf.data.TFRecordDataset(p).prefetch(9)",
        "ds = tf.data.TFRecordDataset(p).batch(8).prefetch(1).unbatch().batch(4).prefetch(1)",
        "from lib import finish\nds = finish(tf.data.TFRecordDataset(p).prefetch(9).batch(8))",
    ],
    "EIO104": [
        "ds = tf.data.TFRecordDataset(p).batch(size).prefetch(2)",
        "ds = tf.data.TFRecordDataset(p).batch(size).prefetch(tf.data.AUTOTUNE)",
        "ds = tf.data.TFRecordDataset(p).batch(size).prefetch(buffer)",
        "ds = tf.data.TFRecordDataset(p).prefetch(1000).batch(size).prefetch(1)",
        "ds = tf.data.TFRecordDataset(p).batch(2).prefetch(2)",
        "ds = tf.data.TFRecordDataset(p).batch(9).unbatch().prefetch(1000)",
    ],
    "EIO105": [
        "ds = tf.data.TFRecordDataset(p).map(lambda r: tf.io.decode_raw(r, tf.uint8))",
        "def f(rows):\n    return tf.numpy_function(g, [rows], tf.float32)\n"
        "ds = tf.data.TFRecordDataset(p).batch(8).map(f)",
        # py_function in a function that is not mapped
        "def metric(y):\n    return tf.py_function(g, [y], tf.float32)\n"
        "ds = tf.data.TFRecordDataset(p).map(parse)",
    ],
    "EIO106": [
        "ds = tf.data.Dataset.list_files(p).interleave(\n"
        "    tf.data.TFRecordDataset, num_parallel_calls=4)",
        "ds = tf.data.Dataset.list_files(p).apply(\n"
        "    tf.data.experimental.parallel_interleave(tf.data.TFRecordDataset, 4))",
    ],
    "EIO107": [
        "ds = tf.data.TFRecordDataset(path)",
        "ds = tf.data.TFRecordDataset(['one.tfrecord'])",
        "import glob\nds = tf.data.TFRecordDataset(glob.glob(p), num_parallel_reads=8)",
        "def f(filenames):\n    return tf.data.TFRecordDataset(filenames)",
        "ds = tf.data.Dataset.list_files(p).interleave(\n"
        "    tf.data.TFRecordDataset, num_parallel_calls=4)",
        "ds = tf.data.Dataset.list_files(p).flat_map(lambda f: lines(f))",
    ],
    "EIO108": [
        "ds = tf.data.Dataset.list_files(p).shuffle(999).map(tf.io.decode_jpeg)",
        "ds = tf.data.Dataset.list_files(p).map(tf.io.decode_jpeg).cache().shuffle(999)",
        "ds = tf.data.TFRecordDataset(p).map(parse).shuffle(999)",
        "ds = tf.data.TFRecordDataset(p).map(tf.io.decode_jpeg).shuffle(16)",
        "ds = tf.data.TFRecordDataset(p).map(tf.io.decode_jpeg).batch(4).shuffle(999)",
        "ds = tf.data.TFRecordDataset(p).map(tf.io.decode_wav).flat_map(cut).shuffle(999)",
    ],
    "EIO109": [
        "def parse(r):\n    x = tf.io.parse_single_example(r, spec)\n"
        "    return tf.io.decode_jpeg(x['image'])\n"
        "ds = tf.data.TFRecordDataset(p).map(parse).batch(8)",
        "ds = tf.data.TFRecordDataset(p).batch(8).map(lambda r: tf.io.parse_example(r, spec))",
        "def parse(r):\n    return tf.io.parse_single_example(r, spec)\n"
        "ds = tf.data.TFRecordDataset(p).map(parse).filter(keep).batch(8)",
        "from lib import augment\ndef parse(r):\n"
        "    return augment(tf.io.parse_single_example(r, spec))\n"
        "ds = tf.data.TFRecordDataset(p).map(parse).batch(8)",
        "def parse(r):\n    x = tf.io.parse_single_example(r, spec)\n"
        "    return tf.reshape(x['a'], [2, 2])\n"
        "ds = tf.data.TFRecordDataset(p).map(parse).batch(8)",
    ],
    "EIO110": [
        "ds = tf.data.Dataset.list_files(p).map(tf.io.decode_jpeg).cache()",
        "ds = tf.data.TFRecordDataset(p).cache().map(tf.io.decode_jpeg)",
        "ds = tf.data.Dataset.from_tensor_slices(x).cache().map(lambda v: v / 2)",
        "def aug(i):\n    return tf.image.random_flip_left_right(tf.io.decode_jpeg(i))\n"
        "ds = tf.data.Dataset.from_tensor_slices(x).cache().map(aug)",
        "ds = tf.data.Dataset.list_files(p).cache().map(tf.io.decode_jpeg).cache()",
    ],
    "EIO111": [
        "def train_input_fn():\n    return tf.data.TFRecordDataset(p).cache().repeat().batch(8)\n"
        "tf.estimator.TrainSpec(train_input_fn)",
        "def eval_input_fn():\n    return tf.data.TFRecordDataset(p).cache('/tmp/c').batch(8)\n"
        "tf.estimator.EvalSpec(eval_input_fn)",
        "def input_fn(training):\n    ds = tf.data.TFRecordDataset(p)\n    if training:\n"
        "        ds = ds.cache()\n    return ds.batch(8)\n"
        "tf.estimator.EvalSpec(lambda: input_fn(False))",
        # under Keras the Dataset is built once
        "val = tf.data.TFRecordDataset(p).cache().batch(8)\nmodel.evaluate(val)",
    ],
    "EIO112": [
        "ds = tf.data.TFRecordDataset(p).shard(2, 0).map(f).batch(8)",
        "ds = tf.data.Dataset.list_files(p, shuffle=False).shard(2, 0).map(f)",
    ],
    "EIO113": [
        "import estimator_io\nfn = estimator_io.numpy_input_fn(x, y, shuffle=True)",
        "def numpy_input_fn(x):\n    return x\nfn = numpy_input_fn(x)",
    ],
    "EIO114": [
        "ds = tf.data.Dataset.range(3).batch(2)",
        "class Train:\n    def batch(self):\n        return 1\ntrain = Train()\ntrain.batch()",
        "tf.train.shuffle_whatever(x)",
    ],
    "EIO115": [
        "def rows():\n    for name in names:\n        yield load(name)\n"
        "ds = tf.data.Dataset.from_generator(rows, tf.float32)",
        "ds = tf.data.Dataset.from_generator(reader, tf.float32)",
        "ds = tf.data.Dataset.from_generator(lambda: zip(files, labels), (tf.string, tf.int64))",
        "def rows():\n    for a, b in zip(x, y):\n        yield augment(a), b\n"
        "ds = tf.data.Dataset.from_generator(rows, tf.float32)",
    ],
    "EIO116": [
        "def train_input_fn():\n    return tf.data.TFRecordDataset(p).shuffle(99).batch(8)\n"
        "tf.estimator.TrainSpec(train_input_fn)",
        "def input_fn():\n    return tf.data.TFRecordDataset(p).shuffle(99).batch(8)\n"
        "tf.estimator.TrainSpec(input_fn)\ntf.estimator.EvalSpec(input_fn)",
        "def eval_input_fn():\n    return tf.data.TFRecordDataset(p).shuffle(99, 1).take(9)\n"
        "tf.estimator.EvalSpec(eval_input_fn)",
        "ds = tf.data.TFRecordDataset(p).shuffle(99).batch(8)\nmodel.evaluate(ds)",
    ],
    "EIO117": [
        "ds = tf.data.TFRecordDataset(p).take(9).cache().repeat()",
        "ds = tf.data.TFRecordDataset(p).cache().repeat().take(9)",
        # a look at the first rows
        "ds = tf.data.TFRecordDataset(p).cache()\nfor row in ds.take(1):\n    print(row)",
        "ds = tf.data.TFRecordDataset(p).cache().take(-1).repeat()",
    ],
}

FLAGGED = {
    "EIO101": [
        "ds = tf.data.TFRecordDataset(p).batch(8)  # <-",
        "from tensorflow.data import TFRecordDataset as Records\nds = Records(p)\n"
        "ds = ds.padded_batch(8)  # <-\nds = ds.map(f)",
        "def input_fn(dataset):\n    return dataset.shuffle(9).batch(8)  # <-",
        "def f(p, training):\n    ds = tf.data.TFRecordDataset(p)\n    if training:\n"
        "        ds = ds.shuffle(9).repeat()\n    return ds.batch(8)  # <-",
        "ds = (\n    tf.data.TFRecordDataset(p)\n    .shuffle(99)\n    .batch(8)  # <-\n)",
        "ds = tf.data.TFRecordDataset(p) \\\n    .shuffle(99) \\\n    .batch(8)\n"
        "it = ds.make_one_shot_iterator()  # the batch stands on line 3\n".replace(
            "    .batch(8)", "    .batch(8)  # <-"
        ),
    ],
    "EIO102": [
        "ds = tf.data.TFRecordDataset(p).map(lambda r: r)  # <-",
        "from tensorflow import data\nds = data.TFRecordDataset(p)\nds = ds.map(f)  # <-",
        "import tensorflow.compat.v1 as tf\nD = tf.data.Dataset\nds = D.range(3).map(f)  # <-",
        "class Reader:\n    def __init__(self, p):\n        self.ds = tf.data.TFRecordDataset(p)\n"
        "    def parse(self, r):\n        return r\n    def read(self):\n"
        "        return self.ds.map(self.parse)  # <-",
    ],
    "EIO103": [
        "ds = tf.data.TFRecordDataset(p).prefetch(9).batch(8)  # <-",
        "def input_fn():\n    d = tf.data.TFRecordDataset(p).map(f)\n    d = d.prefetch(64)  # <-\n"
        "    d = d.repeat()\n    d = d.batch(8)\n    return d",
    ],
    "EIO104": [
        "ds = tf.data.TFRecordDataset(p).batch(batch_size).prefetch(batch_size)  # <-",
        "ds = tf.data.TFRecordDataset(p).batch(n).prefetch(buffer_size=4 * n)  # <-",
        "ds = tf.data.TFRecordDataset(p).batch(8).prefetch(1000)  # <-",
        "BUFFER = 10_000\ndef f():\n"
        "    return tf.data.TFRecordDataset(p).batch(8).prefetch(BUFFER)  # <-",
    ],
    "EIO105": [
        "ds = tf.data.Dataset.list_files(p).map(\n"
        "    lambda f: tf.py_function(read, [f], tf.float32))".replace("map(\n", "map(  # <-\n"),
        "def load(f):\n    return tf.compat.v1.py_func(read, [f], tf.float32)\n"
        "def both(f, y):\n    return load(f), y\n"
        "ds = tf.data.Dataset.from_tensor_slices((f, y)).map(both, num_parallel_calls=4)  # <-",
        "from functools import partial\ndef load(size, f):\n"
        "    return tf.numpy_function(read, [f], tf.float32)\n"
        "ds = tf.data.Dataset.list_files(p).map(partial(load, 3))  # <-",
    ],
    "EIO106": [
        "ds = tf.data.Dataset.list_files(p).interleave(tf.data.TFRecordDataset, 4)  # <-",
        "ds = tf.data.Dataset.list_files(p)\n"
        "ds = ds.interleave(lambda f: tf.data.TextLineDataset(f).skip(1), cycle_length=4)  # <-",
    ],
    "EIO107": [
        "import glob\nds = tf.data.TFRecordDataset(glob.glob(p))  # <-",
        "ds = tf.data.TFRecordDataset(tf.io.gfile.glob(p))  # <-",
        "import os\nnames = [os.path.join(d, n) for n in os.listdir(d)]\n"
        "ds = tf.data.TextLineDataset(sorted(names))  # <-",
        "ds = tf.data.TFRecordDataset(['a', 'b'])  # <-",
        "files = tf.data.Dataset.list_files(p).shuffle(9)\n"
        "ds = files.flat_map(tf.data.TFRecordDataset)  # <-",
        "ds = tf.data.TFRecordDataset(tf.data.Dataset.list_files(p))  # <-",
    ],
    "EIO108": [
        "def decode(f):\n    return tf.io.decode_jpeg(tf.io.read_file(f))\n"
        "ds = tf.data.Dataset.list_files(p).map(decode).shuffle(999)  # <-",
        "def parse(r):\n    x = tf.io.parse_single_example(r, spec)\n"
        "    return tf.image.decode_png(x['image'])\n"
        "ds = tf.data.TFRecordDataset(p).map(parse)\nds = ds.repeat().shuffle(buffer)  # <-",
        "import glob\nnames = glob.glob(p)\ndef load(f):\n"
        "    return tf.numpy_function(read, [f], tf.float32)\n"
        "ds = tf.data.Dataset.from_tensor_slices(names).map(load).shuffle(999)  # <-",
    ],
    "EIO109": [
        "def parse(r):\n    x = tf.parse_single_example(r, spec)\n"
        "    return x, tf.cast(x.pop('y'), tf.int32)\n"
        "ds = tf.data.TFRecordDataset(p).map(parse)  # <-\nds = ds.shuffle(99).batch(8)",
    ],
    "EIO110": [
        "ds = tf.data.Dataset.list_files(p).cache()  # <-\nds = ds.map(tf.io.decode_jpeg)",
        "def load(f):\n    return tf.py_function(read, [f], tf.float32)\n"
        "ds = tf.data.Dataset.from_tensor_slices(f).shuffle(9).cache()  # <-\nds = ds.map(load)",
    ],
    "EIO111": [
        "def eval_input_fn():\n    return tf.data.TFRecordDataset(p).cache().batch(8)  # <-\n"
        "tf.estimator.EvalSpec(eval_input_fn)",
        "def make(training):\n    ds = tf.data.TFRecordDataset(p).map(f)\n    if not training:\n"
        "        ds = ds.cache()  # <-\n    return ds.batch(8)\n"
        "est = tf.estimator.DNNClassifier([4], columns)\nest.evaluate(lambda: make(False))",
    ],
    "EIO112": [
        "ds = tf.data.TFRecordDataset(p).map(f).shard(2, 0)  # <-",
        "ds = tf.data.TFRecordDataset(p).batch(8).shard(2, 0)  # <-",
    ],
    "EIO113": [
        "fn = tf.compat.v1.estimator.inputs.numpy_input_fn(x, y, shuffle=True)  # <-",
        "fn = tf.estimator.inputs.pandas_input_fn(x, y, shuffle=False)  # <-",
        "from tensorflow.compat.v1.estimator.inputs import numpy_input_fn\n"
        "fn = numpy_input_fn(x, y, shuffle=True)  # <-",
    ],
    "EIO114": [
        "q = tf.train.string_input_producer(files)  # <-",
        "import tensorflow.compat.v1 as v1\nx = v1.train.shuffle_batch([a], 8, 99, 9)  # <-",
    ],
    "EIO115": [
        "ds = tf.data.Dataset.from_generator(lambda: zip(x, y), (tf.float32, tf.int64))  # <-",
        "def rows():\n    for a, b in zip(x, y):\n        yield a, b\n"
        "ds = tf.data.Dataset.from_generator(rows, (tf.float32, tf.int64))  # <-",
    ],
    "EIO116": [
        "def eval_input_fn():\n    return tf.data.TFRecordDataset(p).shuffle(99).batch(8)  # <-\n"
        "tf.estimator.EvalSpec(eval_input_fn)",
    ],
    "EIO117": [
        "ds = tf.data.TFRecordDataset(p).cache().take(9).repeat()  # <-",
    ],
}

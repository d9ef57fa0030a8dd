"""EIO2xx: for each code what must not be flagged, then what must, with `# <-` on the lines."""

CLEAN = {
    "EIO201": [
        "ds = tf.data.Dataset.range(3)\nds = ds.shuffle(3)",
        "ds = tf.data.Dataset.range(3)\nprint(ds.batch(2))",
        "ds = tf.data.Dataset.range(3)\nlist(ds.batch(2))",
        "rows = []\nrows.append(tf.data.Dataset.range(3).batch(2))",
        "import random\nrandom.shuffle(names)",
        # called for its error
        "import pytest\nds = tf.data.Dataset.range(3)\nwith pytest.raises(ValueError):\n"
        "    ds.batch(-1)",
        "class T(tf.test.TestCase):\n    def test(self):\n        ds = tf.data.Dataset.range(3)\n"
        "        with self.assertRaisesRegex(ValueError, 'x'):\n            ds.batch(-1)",
        # a class of the file that only looks like it
        "class Dataset:\n    def shuffle(self, n):\n        return self\n"
        "    def batch(self, n):\n        return self\nds = Dataset.load()\n"
        "ds.shuffle(3).batch(3)",
        "names.repeat()",
        "def f(pool):\n    pool.map(g)",
        "ds = tf.data.Dataset.range(3)\nfor x in ds.take(1):\n    pass",
    ],
    "EIO202": [
        "ds = tf.data.TFRecordDataset(p).shuffle(99).repeat(3)",
        "ds = tf.data.TFRecordDataset(p).repeat(1).shuffle(99)",
        "ds = tf.data.TFRecordDataset(p).shuffle(9).repeat().shuffle(99)",
        "ds = tf.data.TFRecordDataset(p).repeat(2).batch(8).shuffle(9)",
        "ds = tf.data.Dataset.from_tensors(x).repeat(99).shuffle(9)",
        "def f(training):\n    ds = tf.data.TFRecordDataset(p)\n    if not training:\n"
        "        ds = ds.repeat()\n    if training:\n        ds = ds.shuffle(9)\n    return ds",
    ],
    "EIO203": [
        "ds = tf.data.TFRecordDataset(p).shuffle(99).batch(8).shuffle(9)",
        "ds = tf.data.TFRecordDataset(p).batch(8).unbatch().shuffle(99)",
        "ds = tf.data.TFRecordDataset(p).batch(8).shuffle(9).unbatch()",
        "def f(ds, size):\n    return ds.batch(size).shuffle(9)",
        "ds = tf.data.Dataset.from_generator(batches, tf.float32).shuffle(9)",
        "def f(training):\n    ds = tf.data.TFRecordDataset(p)\n    if training:\n"
        "        ds = ds.shuffle(9)\n    else:\n        ds = ds.batch(3)\n    return ds",
    ],
    "EIO204": [
        "ds = tf.data.TFRecordDataset(p).shuffle(999).batch(8)",
        "ds = tf.data.TFRecordDataset(p).shuffle(8).batch(8)",
        "ds = tf.data.TFRecordDataset(p).shuffle(n).batch(8)",
        "ds = tf.data.Dataset.list_files(p).shuffle(4).interleave(read).batch(8)",
        "ds = tf.data.TFRecordDataset(p).batch(8).shuffle(4).unbatch().batch(8)",
        "ds = tf.data.TFRecordDataset(p).shuffle(999).map(f).shuffle(2).batch(8)",
    ],
    "EIO205": [
        "def aug(i):\n    return tf.image.random_flip_left_right(i)\n"
        "ds = tf.data.TFRecordDataset(p).cache().map(aug)",
        "def f(i):\n    return tf.image.flip_left_right(i)\n"
        "ds = tf.data.TFRecordDataset(p).map(f).cache()",
        "from lib import f\nds = tf.data.TFRecordDataset(p).map(f).cache()",
        "ds = tf.data.TFRecordDataset(p).map(\n"
        "    lambda i: tf.image.stateless_random_hue(i, 0.1, (1, 2))).cache()",
        "tf.random.set_seed(1)\nds = tf.data.TFRecordDataset(p).map(lambda r: r).cache()",
        "def f(training):\n    def aug(i):\n        return tf.image.random_hue(i, 0.1)\n"
        "    ds = tf.data.TFRecordDataset(p)\n    if training:\n        ds = ds.map(aug)\n"
        "    if not training:\n        ds = ds.cache()\n    return ds",
    ],
    "EIO206": [
        "ds = tf.data.TFRecordDataset(p).cache().shuffle(99)",
        "ds = tf.data.TFRecordDataset(p).shuffle(99).cache().shuffle(99)",
        "ds = tf.data.TFRecordDataset(p).shuffle(\n    99, reshuffle_each_iteration=False).cache()",
        "ds = tf.data.Dataset.list_files(p).shuffle(9).interleave(read).cache()",
        "ds = tf.data.TFRecordDataset(p).shuffle(99).take(9).cache()",
    ],
    "EIO207": [
        "ds = tf.data.TFRecordDataset(p).cache().repeat()",
        "ds = tf.data.TFRecordDataset(p).repeat(3).cache()",
        "ds = tf.data.TFRecordDataset(p).repeat(epochs).cache()",
        "ds = tf.data.TFRecordDataset(p).repeat().take(99).cache()",
    ],
    "EIO208": [
        "ds = tf.data.TFRecordDataset(p).shuffle(\n    99, 1, reshuffle_each_iteration=False)\n"
        "a, b = ds.take(50), ds.skip(50)",
        "ds = tf.data.TFRecordDataset(p)\na, b = ds.take(50).shuffle(9), ds.skip(50)",
        "ds = tf.data.TFRecordDataset(p).shuffle(99)\na = ds.take(50)",
        # a look at a few rows, and another Dataset without its header
        "ds = tf.data.TFRecordDataset(p).shuffle(99)\nfor row in ds.take(1):\n    print(row)\n"
        "ds = ds.skip(1)",
    ],
    "EIO209": [
        "ds = tf.data.Dataset.list_files(p, shuffle=False).shard(2, 0)",
        "ds = tf.data.Dataset.list_files(p, False).shard(2, 0)",
        "ds = tf.data.Dataset.list_files(p, seed=1).shard(2, 0)",
        "ds = tf.data.Dataset.list_files(p, shuffle=train).shard(2, 0)",
        "ds = tf.data.Dataset.list_files(p).interleave(read)",
    ],
    "EIO210": [
        "ds = tf.data.TFRecordDataset(p).shard(2, 0).shuffle(99)",
        "ds = tf.data.TFRecordDataset(p).shuffle(99, seed=1).shard(2, 0)",
    ],
    "EIO211": [
        "ds = tf.data.Dataset.from_tensor_slices(x).shuffle(99)",
        "ds = tf.data.Dataset.from_tensors(x).repeat().batch(8)",
        "ds = tf.data.Dataset.from_tensors(x).unbatch().shuffle(99)",
        "ds = tf.data.Dataset.from_tensors(x).flat_map(rows).shuffle(99)",
    ],
    "EIO212": [
        "a, b = tf.data.Dataset.range(3), tf.data.Dataset.range(3)\n"
        "ds = tf.data.Dataset.zip((a, b)).shuffle(3)",
        "a, b = tf.data.Dataset.range(3), tf.data.Dataset.range(3)\n"
        "ds = tf.data.Dataset.zip((a.shuffle(3, seed=1), b.shuffle(3, seed=1)))",
        "a, b = tf.data.Dataset.range(3), tf.data.Dataset.range(3)\n"
        "ds = tf.data.Dataset.zip((a.shuffle(3), b))",
        # two parts of the same rows
        "ds = tf.data.Dataset.range(3).shuffle(3)\n"
        "pairs = tf.data.Dataset.zip((ds.map(f), ds.map(g)))",
        # random pairs of two endless streams, as in a CycleGAN
        "a, b = tf.data.TFRecordDataset(p).repeat(), tf.data.TFRecordDataset(q).repeat()\n"
        "ds = tf.data.Dataset.zip((a.shuffle(9), b.shuffle(9)))",
    ],
    "EIO213": [
        "ds = tf.data.TFRecordDataset(p).map(lambda r: tf.random.uniform([]))",
        "import numpy as np\ndef draw(r):\n    return np.random.uniform()\n"
        "ds = tf.data.TFRecordDataset(p).map(\n"
        "    lambda r: tf.py_function(draw, [r], tf.float32))",
        "import numpy as np\nds = tf.data.TFRecordDataset(p).map(\n"
        "    lambda r: tf.numpy_function(lambda v: np.random.rand(), [r], tf.float64))",
        "import numpy as np\nx = np.random.rand(3)\n"
        "ds = tf.data.Dataset.from_tensor_slices(x).map(lambda r: r + 1)",
        "import numpy as np\ndef rows():\n    yield np.random.rand()\n"
        "ds = tf.data.Dataset.from_generator(rows, tf.float32).map(f)",
        "def f(r, random):\n    return random.uniform(r)\nds = tf.data.TFRecordDataset(p).map(f)",
    ],
    "EIO214": [
        "ds = tf.data.TFRecordDataset(p).shuffle(9, seed=1).map(f, num_parallel_calls=4)",
        "ds = tf.data.TFRecordDataset(p).shuffle(9).map(f, 4, deterministic=False)",
        "ds = tf.data.TFRecordDataset(p).shuffle(9, seed=None).map(f, 4, deterministic=False)",
        "ds = tf.data.TFRecordDataset(p).shuffle(9, seed=1).map(f, 4, deterministic=exact)",
    ],
    "EIO215": [
        "ds = tf.data.TFRecordDataset(p).ignore_errors(log_warning=True)",
        "ds = tf.data.TFRecordDataset(p).ignore_errors(True)",
        "ds = tf.data.TFRecordDataset(p).ignore_errors(log_warning=loud)",
        "import shutil\nshutil.rmtree(p, ignore_errors=True)",
    ],
    "EIO216": [
        "def input_fn():\n    return tf.data.TFRecordDataset(p).shuffle(\n"
        "        9, seed=1, reshuffle_each_iteration=False).take(5)",
        "def input_fn():\n    return tf.data.TFRecordDataset(p).shuffle(\n"
        "        9, reshuffle_each_iteration=False).batch(5)",
        # one graph, one order
        "ds = tf.data.TFRecordDataset(p).shuffle(9, reshuffle_each_iteration=False)\n"
        "a, b = ds.take(5), ds.skip(5)",
    ],
}

FLAGGED = {
    "EIO201": [
        "ds = tf.data.Dataset.range(3)\nds.shuffle(3)  # <-",
        "def f(p):\n    ds = tf.data.TFRecordDataset(p)\n    if training:\n"
        "        ds.repeat()  # <-\n    return ds.batch(8)",
        "ds = tf.data.Dataset.range(3)\nds.batch(2).prefetch(1)  # <-",
    ],
    "EIO202": [
        "ds = tf.data.TFRecordDataset(p).repeat().shuffle(99)  # <-",
        "def input_fn(params):\n    d = tf.data.TFRecordDataset(p)\n    if training:\n"
        "        d = d.repeat(3)  # <-\n        d = d.shuffle(buffer_size=100)\n"
        "    return d.batch(params['batch_size'])",
    ],
    "EIO203": [
        "ds = tf.data.TFRecordDataset(p).batch(8).shuffle(99)  # <-",
        "def f(p, n):\n    ds = tf.data.TFRecordDataset(p).padded_batch(n)\n"
        "    if shuffle:\n        ds = ds.shuffle(99)  # <-\n    return ds",
    ],
    "EIO204": [
        "ds = tf.data.TFRecordDataset(p).shuffle(20).batch(128)  # <-",
        "SIZE = 128\nds = tf.data.TFRecordDataset(p)\nds = ds.shuffle(1).map(f)  # <-\n"
        "ds = ds.batch(SIZE)",
        "def make(buffer):\n    return tf.data.TFRecordDataset(p).shuffle(buffer).batch(64)  # <-\n"
        "ds = make(10)",
    ],
    "EIO205": [
        "def aug(i):\n    return tf.image.random_flip_left_right(i)\n"
        "ds = tf.data.TFRecordDataset(p).map(aug).cache()  # <-",
        "def crop(i):\n    return tf.random_crop(i, [3, 3])\ndef both(i, y):\n"
        "    return crop(i), y\nds = tf.data.TFRecordDataset(p).map(both)\n"
        "ds = ds.shuffle(9).cache('/tmp/x')  # <-",
        "ds = tf.data.TFRecordDataset(p).map(lambda i: tf.nn.dropout(i, 0.5)).cache()  # <-",
        "class Reader:\n    def aug(self, i):\n        return tf.image.random_hue(i, 0.1)\n"
        "    def read(self, p):\n        ds = tf.data.TFRecordDataset(p)\n"
        "        return ds.map(self.aug).cache()  # <-",
    ],
    "EIO206": [
        "ds = tf.data.TFRecordDataset(p).shuffle(99).cache().repeat()  # <-",
        "ds = tf.data.TFRecordDataset(p)\n"
        "ds = ds.apply(tf.data.experimental.shuffle_and_repeat(99, 3))\nds = ds.cache()  # <-",
    ],
    "EIO207": [
        "ds = tf.data.TFRecordDataset(p).repeat().cache()  # <-",
        "ds = tf.data.TFRecordDataset(p).repeat(-1).map(f).cache()  # <-",
        "ds = tf.data.TFRecordDataset(p).repeat(None).cache()  # <-",
    ],
    "EIO208": [
        "ds = tf.data.TFRecordDataset(p).shuffle(99)  # <-\na, b = ds.take(50), ds.skip(50)",
        "def split(p, n):\n    ds = tf.data.TFRecordDataset(p)\n    ds = ds.shuffle(99)  # <-\n"
        "    train = ds.skip(n).batch(8)\n    test = ds.take(n).batch(8)\n    return train, test",
    ],
    "EIO209": [
        "ds = tf.data.Dataset.list_files(p).shard(2, 0)  # <-".replace(
            "list_files(p)", "list_files(p)"
        ),
        "files = tf.data.Dataset.list_files(p, shuffle=True)  # <-\n"
        "files = files.shard(workers, worker)\nds = files.interleave(tf.data.TFRecordDataset)",
    ],
    "EIO210": [
        "ds = tf.data.TFRecordDataset(p).shuffle(99).shard(2, 0)  # <-",
    ],
    "EIO211": [
        "ds = tf.data.Dataset.from_tensors((x, y))  # <-\nds = ds.shuffle(99).batch(8)",
    ],
    "EIO212": [
        "a, b = tf.data.Dataset.range(3), tf.data.Dataset.range(3)\n"
        "ds = tf.data.Dataset.zip((a.shuffle(3), b.shuffle(3)))  # <-",
        "a = tf.data.Dataset.range(3).shuffle(3)\nb = tf.data.Dataset.range(3).shuffle(3)\n"
        "ds = tf.data.Dataset.zip(a, b)  # <-",
    ],
    "EIO213": [
        "import numpy as np\ndef f(r):\n    return r * np.random.uniform(0, 1)\n"
        "ds = tf.data.TFRecordDataset(p).map(f)  # <-",
        "import random\ndef flip(r):\n    if random.random() < 0.5:\n        return r\n"
        "    return -r\ndef f(r):\n    return flip(r)\n"
        "ds = tf.data.TFRecordDataset(p).map(f, num_parallel_calls=4)  # <-",
    ],
    "EIO214": [
        "ds = tf.data.TFRecordDataset(p).shuffle(9, seed=1)\n"
        "ds = ds.map(f, num_parallel_calls=4, deterministic=False)  # <-",
        "ds = tf.data.Dataset.list_files(p).shuffle(9, 1).apply(  # <-\n"
        "    tf.data.experimental.parallel_interleave(read, 4, sloppy=True))",
    ],
    "EIO215": [
        "ds = tf.data.TFRecordDataset(p).ignore_errors()  # <-",
        "ds = tf.data.TFRecordDataset(p).apply(tf.data.experimental.ignore_errors())  # <-",
    ],
    "EIO216": [
        "def input_fn():\n    ds = tf.data.TFRecordDataset(p)\n"
        "    return ds.shuffle(9, reshuffle_each_iteration=False).take(5)  # <-",
    ],
}

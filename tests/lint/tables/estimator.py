"""EIO3xx: for each code what must not be flagged, then what must, with `# <-` on the lines."""

CLEAN = {
    "EIO301": [
        "def input_fn():\n    return tf.data.TFRecordDataset(p).batch(8)\n"
        "tf.estimator.TrainSpec(input_fn)",
        # without an Estimator, a Dataset of the module is the normal thing
        "ds = tf.data.TFRecordDataset(p)\ndef train():\n    return ds.batch(8)",
        "def builder(p):\n    def input_fn():\n        return tf.data.TFRecordDataset(p)\n"
        "    return input_fn\ntf.estimator.TrainSpec(builder('a'))",
    ],
    "EIO302": [
        "def input_fn():\n    return tf.data.TFRecordDataset(p)\ntf.estimator.TrainSpec(input_fn)",
        "def build(p):\n    def input_fn():\n        return tf.data.TFRecordDataset(p)\n"
        "    return input_fn\ntf.estimator.TrainSpec(build('a'), max_steps=3)",
        "def build(p):\n    return lambda: tf.data.TFRecordDataset(p)\n"
        "tf.estimator.TrainSpec(build('a'), max_steps=3)",
        "from lib import input_fn\ntf.estimator.TrainSpec(input_fn('a'), max_steps=3)",
        "model.evaluate(tf.data.TFRecordDataset(p).batch(8))",
    ],
    "EIO303": [
        "def input_fn():\n    return tf.data.TFRecordDataset(p)\n"
        "tf.estimator.TrainSpec(lambda: input_fn())",
        "def build(p):\n    def input_fn():\n        return tf.data.TFRecordDataset(p)\n"
        "    return input_fn\ntf.estimator.TrainSpec(lambda: build('a')())",
        "from lib import input_fn\ntf.estimator.TrainSpec(lambda: input_fn)",
    ],
    "EIO304": [
        "def input_fn():\n    return tf.data.TFRecordDataset(p).repeat().batch(8)\n"
        "tf.estimator.EvalSpec(input_fn)\ntf.estimator.TrainSpec(input_fn, 99)",
        "def input_fn():\n    return tf.data.TFRecordDataset(p).repeat().batch(8)\n"
        "tf.estimator.EvalSpec(input_fn, steps=10)",
        "def input_fn(training):\n    ds = tf.data.TFRecordDataset(p)\n    if training:\n"
        "        ds = ds.repeat()\n    return ds.batch(8)\n"
        "tf.estimator.EvalSpec(lambda: input_fn(False), steps=None)",
        "def input_fn(mode):\n    ds = tf.data.TFRecordDataset(p)\n    match mode:\n"
        "        case 'train':\n            ds = ds.repeat()\n        case 'eval' | 'infer':\n"
        "            pass\n        case _:\n            raise ValueError(mode)\n    return ds\n"
        "tf.estimator.EvalSpec(lambda: input_fn('eval'), steps=None)",
        "def input_fn(mode):\n    ds = tf.data.TFRecordDataset(p)\n    while mode == 'train':\n"
        "        ds = ds.repeat()\n        break\n    return ds\n"
        "tf.estimator.EvalSpec(lambda: input_fn('eval'), steps=None)",
        "def input_fn(train):\n    ds = tf.data.TFRecordDataset(p)\n"
        "    for _ in range(3 if train else 0):\n        ds = ds.repeat()\n    return ds\n"
        "tf.estimator.EvalSpec(lambda: input_fn(False), steps=None)",
        "def input_fn(epochs=1):\n    return tf.data.TFRecordDataset(p).repeat(epochs).batch(8)\n"
        "tf.estimator.EvalSpec(input_fn, steps=None)",
        "def input_fn():\n    return tf.data.TFRecordDataset(p).repeat().take(9)\n"
        "tf.estimator.EvalSpec(input_fn, steps=None)",
        "def input_fn(mode):\n    ds = tf.data.TFRecordDataset(p)\n"
        "    if mode == tf.estimator.ModeKeys.TRAIN:\n        ds = ds.repeat()\n    return ds\n"
        "tf.estimator.EvalSpec(input_fn, steps=None)",
    ],
    "EIO305": [
        "def input_fn():\n    return tf.data.TFRecordDataset(p).batch(8)",
        "ds = tf.data.TFRecordDataset(p)\nit = tf.compat.v1.data.make_one_shot_iterator(ds)",
    ],
    "EIO306": [
        "def input_fn():\n    return tf.data.TFRecordDataset(p).batch(8)",
        "ds = tf.data.TFRecordDataset(p)\nit = tf.compat.v1.data.make_initializable_iterator(ds)",
    ],
    "EIO307": [
        "def input_fn():\n    return tf.data.Dataset.from_tensor_slices([1, 2, 3]).batch(2)\n"
        "tf.estimator.TrainSpec(input_fn)",
        "import glob\ndef input_fn():\n"
        "    return tf.data.Dataset.from_tensor_slices(glob.glob(p)).map(read)",
        "import numpy as np\nx = np.load(p)\nds = tf.data.Dataset.from_tensor_slices(x)\n"
        "model.fit(ds.batch(8))",
        "def train_input_fn(features, labels):\n"
        "    return tf.data.Dataset.from_tensor_slices((dict(features), labels)).batch(8)",
    ],
    "EIO308": [
        "def input_fn(params):\n"
        "    return tf.data.TFRecordDataset(p).batch(params['batch_size'], drop_remainder=True)\n"
        "est = tf.compat.v1.estimator.tpu.TPUEstimator(f, c)\nest.train(input_fn)",
        "def input_fn(params):\n"
        "    return tf.data.TFRecordDataset(p).batch(8, drop_remainder=drop)\n"
        "est = tf.compat.v1.estimator.tpu.TPUEstimator(f, c)\nest.train(input_fn)",
        "def input_fn():\n    return tf.data.TFRecordDataset(p).batch(8)\n"
        "est = tf.estimator.Estimator(f)\nest.train(input_fn)",
    ],
    "EIO309": [
        "ds = tf.data.TFRecordDataset(p).shuffle(9).repeat()",
        "layer = tf.contrib.layers.fully_connected(x, 3)",
    ],
    "EIO310": [
        "ds = tf.data.TFRecordDataset(p).map(f, num_parallel_calls=4).batch(8)",
        "ds = tf.data.TFRecordDataset(p).apply(tf.data.experimental.assert_cardinality(9))",
        "from lib import map_and_batch\nds = tf.data.TFRecordDataset(p).apply(map_and_batch(f))",
    ],
}

FLAGGED = {
    "EIO301": [
        "ds = tf.data.TFRecordDataset(p)\ntf.estimator.TrainSpec(lambda: ds.batch(8))  # <-",
        "ds = tf.data.TFRecordDataset(p)\ndef input_fn():\n    return ds.batch(8)  # <-\n"
        "est = tf.estimator.Estimator(f)\nest.train(input_fn=input_fn)",
    ],
    "EIO302": [
        "def input_fn():\n    return tf.data.TFRecordDataset(p)\n"
        "tf.estimator.TrainSpec(input_fn(), max_steps=3)  # <-",
        "def input_fn(p):\n    ds = tf.data.TFRecordDataset(p)\n"
        "    return ds.make_one_shot_iterator().get_next()\n"
        "est = tf.estimator.Estimator(f)\nest.train(input_fn=input_fn('a'))  # <-",
    ],
    "EIO303": [
        "def input_fn():\n    return tf.data.TFRecordDataset(p)\n"
        "tf.estimator.TrainSpec(lambda: input_fn)  # <-",
        "def build(p):\n    def input_fn():\n        return tf.data.TFRecordDataset(p)\n"
        "    return input_fn\ntf.estimator.TrainSpec(lambda: build('a'))  # <-",
    ],
    "EIO304": [
        "def input_fn():\n    return tf.data.TFRecordDataset(p).repeat().batch(8)\n"
        "tf.estimator.EvalSpec(input_fn, steps=None)  # <-",
        "def input_fn(mode):\n    ds = tf.data.TFRecordDataset(p)\n    match mode:\n"
        "        case 'train':\n            ds = ds.shuffle(99)\n        case _:\n"
        "            ds = ds.repeat()\n    return ds\n"
        "tf.estimator.EvalSpec(lambda: input_fn('eval'), steps=None)  # <-",
        "def input_fn(epochs):\n    ds = tf.data.TFRecordDataset(p).repeat(epochs)\n"
        "    return ds.make_one_shot_iterator().get_next()\n"
        "est = tf.estimator.Estimator(f)\n"
        "est.evaluate(input_fn=lambda: input_fn(None))  # <-",
    ],
    "EIO305": [
        "def input_fn():\n    ds = tf.data.TFRecordDataset(p).batch(8)\n"
        "    return ds.make_one_shot_iterator().get_next()  # <-",
        "def features():\n    ds = tf.data.TFRecordDataset(p).batch(8)\n"
        "    it = tf.compat.v1.data.make_one_shot_iterator(ds)  # <-\n    x, y = it.get_next()\n"
        "    return x, y\ntf.estimator.TrainSpec(features)",
    ],
    "EIO306": [
        "def input_fn():\n    ds = tf.data.TFRecordDataset(p).batch(8)\n"
        "    return tf.compat.v1.data.make_initializable_iterator(ds).get_next()  # <-",
        "def input_fn():\n    ds = tf.data.TFRecordDataset(p).batch(8)\n"
        "    it = ds.make_initializable_iterator()  # <-\n"
        "    tf.add_to_collection('table_initializer', it.initializer)\n    return it.get_next()",
    ],
    "EIO307": [
        "import numpy as np\nx = np.load(p)\ndef input_fn():\n"
        "    return tf.data.Dataset.from_tensor_slices(x).batch(8)  # <-",
        "import pandas as pd\ndf = pd.read_csv(p)\ny = df.pop('y')\ndef input_fn(x, y):\n"
        "    return tf.data.Dataset.from_tensor_slices((dict(x), y)).batch(8)  # <-\n"
        "tf.estimator.TrainSpec(lambda: input_fn(df, y))",
        "(x, y), _ = tf.keras.datasets.mnist.load_data()\ndef input_fn():\n"
        "    return tf.data.Dataset.from_tensor_slices((x / 255, y)).batch(8)  # <-",
    ],
    "EIO308": [
        "def input_fn(params):\n"
        "    return tf.data.TFRecordDataset(p).batch(params['batch_size'])  # <-\n"
        "est = tf.compat.v1.estimator.tpu.TPUEstimator(f, c)\nest.train(input_fn, max_steps=9)",
        "def input_fn(params):\n    return tf.data.TFRecordDataset(p).batch(8)  # <-\n"
        "est = tf.contrib.tpu.TPUEstimator(f, c)\nest.train(input_fn=input_fn)",
    ],
    "EIO309": [
        "ds = ds.apply(tf.contrib.data.shuffle_and_repeat(9))  # <-",
        "from tensorflow.contrib.data import map_and_batch\n"
        "ds = ds.apply(map_and_batch(f, 8))  # <-",
    ],
    "EIO310": [
        "ds = tf.data.TFRecordDataset(p)\n"
        "ds = ds.apply(tf.data.experimental.map_and_batch(f, 8))  # <-",
    ],
}

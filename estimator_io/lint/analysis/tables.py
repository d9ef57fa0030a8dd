"""Names of TensorFlow and Keras, by what their calls do to a map that is made parallel."""

from __future__ import annotations

__all__ = [
    "FACTORIES",
    "LOOKUP_LAYERS",
    "MAKES",
    "NOT_DRAWING",
    "OLD_RANDOM",
    "PURE_KERAS",
    "PURE_LAYERS",
    "PYTHON_CALLS",
    "QUEUES",
    "RANDOM_BACKEND",
    "RANDOM_LAYERS",
    "RANDOM_NN",
    "RANDOM_OPS",
    "RAW_RANDOM",
    "READERS",
    "SAFE_MODULES",
    "SHUFFLING",
    "STATEFUL_METHODS",
    "STATEFUL_TOP",
    "TABLES",
    "UNKNOWN_MODULES",
    "VARIABLES",
    "WRITES_VARIABLE",
    "WRITES_VARIABLES",
]

PYTHON_CALLS = frozenset({"py_function", "py_func", "numpy_function", "eager_py_func"})

FACTORIES = {
    "tensorflow.random.Generator.from_seed": "tensorflow.random.Generator",
    "tensorflow.random.Generator.from_state": "tensorflow.random.Generator",
    "tensorflow.random.Generator.from_key_counter": "tensorflow.random.Generator",
    "tensorflow.random.Generator.from_non_deterministic_state": "tensorflow.random.Generator",
    "tensorflow.random.get_global_generator": "tensorflow.random.Generator",
    "tensorflow.get_variable": "tensorflow.Variable",
    "tensorflow.summary.create_file_writer": "tensorflow.summary.SummaryWriter",
    "tensorflow.train.get_or_create_global_step": "tensorflow.Variable",
    "tensorflow.train.get_global_step": "tensorflow.Variable",
}
"""Functions that return an object of a class with methods that matter here."""

MAKES = (
    "tensorflow.random.",
    "tensorflow.Variable",
    "tensorflow.keras.layers.",
    "tensorflow.keras.metrics.",
    "tensorflow.keras.random.",
    "tensorflow.lookup.",
    "tensorflow.queue.",
    "tensorflow.FIFOQueue",
    "tensorflow.RandomShuffleQueue",
    "tensorflow.PaddingFIFOQueue",
    "tensorflow.PriorityQueue",
    "tensorflow.CriticalSection",
    "tensorflow.summary.SummaryWriter",
)
NOT_DRAWING = frozenset(
    [
        "set_seed",
        "set_random_seed",
        "get_seed",
        "Generator",
        "from_seed",
        "from_state",
        "from_key_counter",
        "from_non_deterministic_state",
        "split",
        "fold_in",
        "index_shuffle",
        "stateless_fold_in",
        "stateless_split",
        "create_rng_state",
        "get_global_generator",
        "set_global_generator",
        "RandomSeed",
        "Algorithm",
    ]
)
# The functions of TensorFlow 1 that stood at the top level.
OLD_RANDOM = frozenset(
    [
        "random_uniform",
        "random_normal",
        "random_shuffle",
        "random_crop",
        "truncated_normal",
        "multinomial",
        "random_gamma",
        "random_poisson",
    ]
)
RANDOM_NN = frozenset(
    [
        "dropout",
        "dropout_v2",
        "general_dropout",
        "stateless_dropout",
        "all_candidate_sampler",
        "nce_loss",
        "fixed_unigram_candidate_sampler",
        "learned_unigram_candidate_sampler",
        "sampled_softmax_loss",
        "log_uniform_candidate_sampler",
        "uniform_candidate_sampler",
        "fractional_avg_pool",
        "fractional_max_pool",
    ]
)
RANDOM_BACKEND = frozenset(
    [
        "dropout",
        "random_normal",
        "random_uniform",
        "random_binomial",
        "random_bernoulli",
        "random_uniform_variable",
        "random_normal_variable",
        "truncated_normal",
    ]
)
RANDOM_LAYERS = frozenset(["GaussianNoise", "AugMix", "CutMix", "MixUp", "RandAugment"])
RAW_RANDOM = (
    "AllCandidateSampler FixedUnigramCandidateSampler LearnedUnigramCandidateSampler"
    " LogUniformCandidateSampler Multinomial NonDeterministicInts ParameterizedTruncatedNormal"
    " RandomCrop RandomGamma RandomPoisson RandomPoissonV2 RandomShuffle RandomStandardNormal"
    " RandomUniform RandomUniformInt SampleDistortedBoundingBox SampleDistortedBoundingBoxV2"
    " StatefulRandomBinomial StatefulStandardNormal StatefulStandardNormalV2"
    " StatefulTruncatedNormal StatefulUniform StatefulUniformFullInt StatefulUniformInt"
    " ThreadUnsafeUnigramCandidateSampler TruncatedNormal UniformCandidateSampler"
)
RANDOM_OPS = frozenset(RAW_RANDOM.split())
PURE_LAYERS = frozenset(
    [
        "CategoryEncoding",
        "CenterCrop",
        "Cropping1D",
        "Cropping2D",
        "Cropping3D",
        "Discretization",
        "Flatten",
        "HashedCrossing",
        "Hashing",
        "Identity",
        "MelSpectrogram",
        "Normalization",
        "Permute",
        "RepeatVector",
        "Rescaling",
        "Reshape",
        "Resizing",
        "STFTSpectrogram",
        "UpSampling1D",
        "UpSampling2D",
        "UpSampling3D",
        "ZeroPadding1D",
        "ZeroPadding2D",
        "ZeroPadding3D",
    ]
)
LOOKUP_LAYERS = frozenset(["IntegerLookup", "StringLookup", "TextVectorization"])
# Datasets whose order, or content, is drawn when they are made or read.
SHUFFLING = frozenset(
    [
        "random",
        "RandomDataset",
        "sample_from_datasets",
        "list_files",
        "make_csv_dataset",
        "make_batched_features_dataset",
        "shuffle_and_repeat",
    ]
)
TABLES = frozenset(["StaticHashTable", "StaticHashTableV1", "StaticVocabularyTable", "HashTable"])
VARIABLES = ("tensorflow.Variable.", "tensorflow.ResourceVariable.")
WRITES_VARIABLES = (
    "assign assign_add assign_sub batch_scatter_update count_up_to load scatter_add scatter_div"
    " scatter_max scatter_min scatter_mul scatter_nd_add scatter_nd_sub scatter_nd_update"
    " scatter_sub scatter_update"
)
WRITES_VARIABLE = frozenset(WRITES_VARIABLES.split())
STATEFUL_TOP = frozenset(["print", "Print", "write_file", "timestamp", "CriticalSection"])
STATEFUL_METHODS = (
    "tensorflow.queue.",
    "tensorflow.lookup.experimental.",
    "tensorflow.summary.",
    "tensorflow.contrib.summary.",
    "tensorflow.CriticalSection.",
    "tensorflow.metrics.",
    "tensorflow.keras.metrics.",
    "tensorflow.train.",
)
QUEUES = frozenset(
    [
        "FIFOQueue",
        "PaddingFIFOQueue",
        "PriorityQueue",
        "RandomShuffleQueue",
        "QueueBase",
        "ConditionalAccumulator",
        "SparseConditionalAccumulator",
    ]
)
READERS = frozenset(
    [
        "FixedLengthRecordReader",
        "IdentityReader",
        "LMDBReader",
        "TFRecordReader",
        "TextLineReader",
        "WholeFileReader",
    ]
)
UNKNOWN_MODULES = (
    "tensorflow.contrib.",
    "tensorflow.distributions.",
    "tensorflow.estimator.",
    "tensorflow.distribute.",
    "tensorflow.tpu.",
    "tensorflow.raw_ops.",
    "tensorflow.layers.",
    "tensorflow.keras.",
    "tensorflow.saved_model.",
    "tensorflow.python.",
)
# Of tf.keras, what neither keeps a state nor draws.
PURE_KERAS = (
    "tensorflow.keras.applications.",
    "tensorflow.keras.backend.",
    "tensorflow.keras.ops.",
    "tensorflow.keras.utils.to_categorical",
    "tensorflow.keras.activations.",
    "tensorflow.keras.losses.",
)
SAFE_MODULES = ("tensorflow.", "numpy.", "math.", "functools.", "operator.")

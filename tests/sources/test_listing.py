"""Which files are found, how they are labelled, and how a split shares them out."""

import os

import numpy as np
import pytest

import estimator_io
from estimator_io import NoDataError, OptionError, SourceError
from estimator_io.sources import listing
from estimator_io.sources.files import find_files


def touch(folder, *names):
    for name in names:
        path = folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(b"")


def paths_of(fn):
    batches = list(fn("eval").as_numpy_iterator())
    return [path.decode() for batch in batches for path in batch]


@pytest.fixture
def tree(tmp_path, monkeypatch):
    touch(tmp_path, "b/2.wav", "a/1.wav", "a/deep/er/3.wav", "a/note.txt", "c.wav", "a.wav/4.wav")
    monkeypatch.chdir(tmp_path)
    return tmp_path


def test_a_pattern_matches_any_depth_sorted_and_files_alone(tree):
    assert listing.list_files(["**/*.wav"]) == [
        "a.wav/4.wav",
        "a/1.wav",
        "a/deep/er/3.wav",
        "b/2.wav",
        "c.wav",
    ]


def test_paths_that_are_given_twice_are_read_twice(tree):
    fn = estimator_io.input_fn(
        ["c.wav", "a/1.wav", "c.wav"], labels=[0, 1, 2], batch_size=3, parse=lambda p, y: (p, y)
    )
    ((paths, labels),) = fn("eval").as_numpy_iterator()
    assert [p.decode() for p in paths] == ["c.wav", "a/1.wav", "c.wav"]
    assert labels.tolist() == [0, 1, 2]


def test_labels_may_be_looked_up_by_path(tree):
    labels = {"c.wav": 7, "a/1.wav": 9, "b/2.wav": 8}
    fn = estimator_io.input_fn(["b/2.wav", "c.wav"], labels=labels, batch_size=2)
    assert labels_of(fn) == [8, 7]
    with pytest.raises(SourceError, match=r"no entry for 'a/deep/er/3\.wav'"):
        estimator_io.input_fn("a/**/*.wav", labels=labels, batch_size=2)


def test_generators_of_paths_and_sets_are_read_once_and_sets_sorted(tree):
    paths = (path for path in ["b/2.wav", "a/1.wav"] * 20)
    fn = estimator_io.audio_input_fn
    from estimator_io.sources.files import as_patterns

    assert as_patterns({"b", "a", "c"}) == ["a", "b", "c"]
    assert as_patterns(paths)[:2] == ["b/2.wav", "a/1.wav"]
    assert fn is not None


def test_one_folder_for_all_labels_is_told(tree, caplog):
    fn = estimator_io.input_fn("a/*.wav", labels="folder", batch_size=1)
    assert fn.class_names == ("a",)
    assert "they all have label 0" in caplog.text


def test_folder_labels_know_the_folder_that_the_program_runs_in(tree):
    fn = estimator_io.input_fn("*.wav", labels="folder", batch_size=1)
    assert fn.class_names == (tree.name,)


def test_paths_are_split_alike_however_they_are_spelt(tmp_path, monkeypatch):
    touch(tmp_path, *(f"{i}.x" for i in range(40)), "x[1].x")
    monkeypatch.chdir(tmp_path)
    names = [f"{i}.x" for i in range(40)]
    absolute = find_files([str(tmp_path / name) for name in names], ("train", 0.5)).value
    relative = find_files(names, ("train", 0.5)).value
    more = find_files([*names, "x[1].x"], ("train", 0.5)).value
    assert [os.path.basename(path) for path in absolute] == relative
    assert set(relative) <= set(more)


def test_several_patterns_keep_their_order_and_name_each_file_once(tree):
    assert listing.list_files(["b/*.wav", "*/*.wav", "c.wav"]) == [
        "b/2.wav",
        "a.wav/4.wav",
        "a/1.wav",
        "c.wav",
    ]


def test_names_with_brackets_spaces_and_accents_are_found(tmp_path):
    touch(tmp_path, "odd [1]/é ü.wav", "odd [1]/x*y.wav")
    found = find_files([tmp_path / "odd [1]" / "é ü.wav"], None)
    assert found.value == [str(tmp_path / "odd [1]" / "é ü.wav")]
    fn = estimator_io.input_fn(str(tmp_path / "odd [[]1]" / "*.wav"), batch_size=2)
    assert paths_of(fn) == [
        str(tmp_path / "odd [1]" / "x*y.wav"),
        str(tmp_path / "odd [1]" / "é ü.wav"),
    ]


def test_paths_may_be_path_objects_and_lists_of_them(tree):
    one = estimator_io.input_fn(tree / "c.wav", batch_size=2)
    two = estimator_io.input_fn([tree / "c.wav", tree / "b" / "2.wav"], batch_size=2)
    assert paths_of(one) == [str(tree / "c.wav")]
    assert paths_of(two) == [str(tree / "c.wav"), str(tree / "b" / "2.wav")]


def test_remote_paths_are_listed_by_tensorflow():
    import tensorflow as tf

    for name in ("b", "a"):
        with tf.io.gfile.GFile(f"ram://listing/{name}.wav", "w") as file:
            file.write("x")
    assert listing.list_files(["ram://listing/*.wav"]) == [
        "ram://listing/a.wav",
        "ram://listing/b.wav",
    ]


@pytest.mark.parametrize(
    ("factory", "example"),
    [
        ("csv_input_fn", "*.csv"),
        ("text_input_fn", "*.txt"),
        ("image_input_fn", "*.jpg"),
        ("audio_input_fn", "*.wav"),
        ("parquet_input_fn", "*.parquet"),
        ("tfrecord_input_fn", "*.tfrecord"),
        ("input_fn", "*"),
    ],
)
def test_the_pattern_that_is_proposed_for_a_folder_fits_the_factory(tree, factory, example):
    needed = {"image_input_fn": {"size": (8, 8)}, "tfrecord_input_fn": {"features": None}}
    with pytest.raises(NoDataError) as caught:
        getattr(estimator_io, factory)("a", batch_size=1, **needed.get(factory, {}))
    assert f"'a/**/{example}'" in str(caught.value)


@pytest.mark.parametrize(
    ("files", "words"),
    [
        ("nothing/**/*.wav", "No file matches 'nothing/**/*.wav'"),
        (["x/*.a", "y/*.b"], "'x/*.a', 'y/*.b'"),
        ("missing.wav", "'missing.wav' does not exist"),
        ("a", "'a' is a folder"),
        ([], "The list of files is empty"),
    ],
)
def test_files_that_are_not_there_are_an_error_that_names_them(tree, files, words):
    for factory in (estimator_io.audio_input_fn, estimator_io.input_fn):
        if factory is estimator_io.input_fn and files == []:
            continue  # an empty list may as well be an empty array
        with pytest.raises(NoDataError) as caught:
            factory(files, batch_size=2)
        assert words in str(caught.value)
        assert "Expected" in str(caught.value)


def labels_of(fn):
    return [int(label) for batch in fn("eval").as_numpy_iterator() for label in batch[1]]


def test_folder_labels_count_the_sorted_folder_names(tree):
    fn = estimator_io.input_fn("[ab]/*.wav", labels="folder", batch_size=2)
    assert fn.class_names == ("a", "b")
    assert labels_of(fn) == [0, 1]


def test_labels_by_function_may_be_numbers_or_names(tree):
    number = estimator_io.input_fn("**/*.wav", labels=lambda p: len(p), batch_size=9)
    assert number.class_names is None
    assert labels_of(number) == [11, 7, 15, 7, 5]
    name = estimator_io.input_fn("**/*.wav", labels=lambda p: p[0].upper(), batch_size=9)
    assert name.class_names == ("A", "B", "C")
    assert labels_of(name) == [0, 0, 0, 1, 2]


@pytest.mark.parametrize(
    ("labels", "words"),
    [
        ([1, None], r"label of file 1 .*is no number\. Received: None"),
        ([1, "a"], r"label of file 1 .*is no number\. Received: 'a'"),
        ([-1, 2**63], r"label of file 1 .*needs more than int64's 64 bits"),
        ({"a/1.wav": None, "b/2.wav": 1}, "label of file 0 .*is no number"),
    ],
)
def test_labels_that_are_neither_texts_nor_numbers_name_the_file(tree, labels, words):
    with pytest.raises(SourceError, match=words):
        estimator_io.input_fn("[ab]/*.wav", labels=labels, batch_size=2)


def test_a_list_of_labels_follows_the_sorted_matches_and_must_have_their_length(tree):
    fn = estimator_io.input_fn("**/*.wav", labels=[5, 6, 7, 8, 9], batch_size=9)
    assert labels_of(fn) == [5, 6, 7, 8, 9]
    with pytest.raises(SourceError, match=r"labels has 2 entries, but 5 files were found"):
        estimator_io.input_fn("**/*.wav", labels=[1, 2], batch_size=9)
    with pytest.raises(OptionError, match="'folders'"):
        estimator_io.input_fn("**/*.wav", labels="folders", batch_size=9)


def test_a_label_list_follows_its_files_into_the_parts_of_a_split(tmp_path):
    touch(tmp_path, *(f"{i}.x" for i in range(40)))
    files = [str(tmp_path / f"{i}.x") for i in range(40)]
    for part in ("train", "validation"):
        fn = estimator_io.input_fn(files, labels=list(range(40)), split=(part, 0.5), batch_size=40)
        ((paths, labels),) = fn("eval").as_numpy_iterator()
        assert [f"{i}.x" for i in labels] == [os.path.basename(p.decode()) for p in paths]


def test_both_parts_of_a_split_are_all_files_and_none_is_in_both(tmp_path):
    touch(tmp_path, *(f"{i % 7}/{i}.x" for i in range(500)))
    pattern = str(tmp_path / "**" / "*.x")
    train, rest = (find_files(pattern, (part, 0.8)).value for part in ("train", "validation"))
    assert not set(train) & set(rest)
    assert set(train) | set(rest) == set(find_files(pattern, None).value)
    # Binomial with n = 500, p = 0.8: five standard deviations are 45.
    assert abs(len(train) - 400) < 45


def test_adding_files_or_moving_the_folder_moves_no_file_to_the_other_part(tmp_path):
    touch(tmp_path, *(f"one/{i % 3}/{i}.x" for i in range(60)))
    before = find_files(str(tmp_path / "one" / "**" / "*.x"), ("train", 0.5)).value
    touch(tmp_path, *(f"one/{i % 5}/new{i}.x" for i in range(60)), "one/top.x")
    after = find_files(str(tmp_path / "one" / "**" / "*.x"), ("train", 0.5)).value
    assert set(before) <= set(after)
    (tmp_path / "one").rename(tmp_path / "two")
    moved = find_files(str(tmp_path / "two" / "**" / "*.x"), ("train", 0.5)).value
    assert [os.path.relpath(f, tmp_path / "two") for f in moved] == [
        os.path.relpath(f, tmp_path / "one") for f in after
    ]


def test_both_parts_number_their_folders_alike(tmp_path):
    touch(tmp_path, *(f"{'abcdef'[i % 6]}/{i}.x" for i in range(30)))
    fns = [
        estimator_io.input_fn(
            str(tmp_path / "*/*.x"), labels="folder", split=(part, 0.5), batch_size=9
        )
        for part in ("train", "validation")
    ]
    assert fns[0].class_names == fns[1].class_names == tuple("abcdef")


def test_the_rows_of_arrays_are_split_disjointly_and_completely():
    train, rest = (
        estimator_io.input_fn(np.arange(1000), split=(part, 0.7), batch_size=1000)
        for part in ("train", "validation")
    )
    rows = [next(fn("eval").as_numpy_iterator()).tolist() for fn in (train, rest)]
    assert sorted(rows[0] + rows[1]) == list(range(1000))
    # Binomial with n = 1000, p = 0.7: five standard deviations are 73.
    assert abs(len(rows[0]) - 700) < 73
    assert train.num_rows == len(rows[0])


@pytest.mark.parametrize(
    ("split", "words"),
    [
        (("train", 1.5), "impossible fraction. Received: 1.5"),
        (("train", 0), "impossible fraction"),
        (("test", 0.5), "unknown part. Received: 'test'"),
        ("train", "must be a pair"),
        (("train",), "must be a pair"),
    ],
)
def test_an_impossible_split_is_refused(tree, split, words):
    with pytest.raises(OptionError) as caught:
        estimator_io.input_fn("**/*.wav", split=split, batch_size=1)
    assert words in str(caught.value)


@pytest.mark.parametrize(
    ("source", "words"),
    [("c.wav", r"leaves none of the 1 files"), (np.arange(1), "leaves none of 1 rows")],
)
def test_a_part_without_a_file_or_row_is_an_error(tree, source, words):
    refused = []
    for part in ("train", "validation"):  # one of the two parts holds the only row
        try:
            estimator_io.input_fn(source, split=(part, 0.5), batch_size=1)
        except NoDataError as error:
            refused.append(str(error))
    assert len(refused) == 1
    assert words in refused[0]

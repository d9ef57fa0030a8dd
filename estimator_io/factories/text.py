"""`text_input_fn`: lines of text files."""

from __future__ import annotations

import functools
from typing import TYPE_CHECKING

from estimator_io.factories.general import make_options
from estimator_io.ops.lines import line_text
from estimator_io.pipeline.input_fn import StagedInputFn
from estimator_io.sources.files import Files, Labels, file_labels, find_files
from estimator_io.sources.head import Layout, find_compression
from estimator_io.sources.lines import line_source, streams_by_default
from estimator_io.sources.split import Split

if TYPE_CHECKING:
    from typing_extensions import Unpack

    from estimator_io.pipeline.options import StageOptions

__all__ = ["text_input_fn"]


def text_input_fn(
    files: Files,
    *,
    labels: Labels = None,
    feature: str = "text",
    skip_lines: int = 0,
    comment: str | None = None,
    keep_blank: bool = False,
    compression: str | None = None,
    stream: bool | None = None,
    split: Split = None,
    **options: Unpack[StageOptions],
) -> StagedInputFn:
    """Returns an input function over the lines of text files.

    Features are {"text": string [batch]}: a line each, without its line break (\\n or \\r\\n), as
    the bytes in the file. Files are indexed or read as a stream as `csv_input_fn` reads them; a
    stream also drops carriage returns inside lines, as tf.data.TextLineDataset does.

    Args:
      files: a path, a glob pattern (`**` too), or a list of them.
      labels: of every line of a file: "folder", a function of the path, a list with one label a
        file, or None.
      feature: the name of the feature.
      skip_lines: lines at the top of each file to skip.
      comment: the character that starts lines to leave out.
      keep_blank: whether empty lines are rows.
      compression: "" or "GZIP"; None goes by the names of the files (.gz).
      stream: as in `csv_input_fn`.
      split: ("train", fraction) or ("validation", fraction): by row where files are indexed, by
        file name where they are a stream.
      **options: the stages, as in `input_fn`. `parse` gets (features, label) of one line.

    Returns:
      An `InputFn`.

    Raises:
      NoDataError: no file matches, or none holds a line.
      SourceError: a file cannot be read, or labels has another length than files.
      OptionError: an option is impossible or contradicts another.

    Example:
      >>> import os, tempfile
      >>> import estimator_io
      >>> path = os.path.join(tempfile.mkdtemp(), "verse.txt")
      >>> with open(path, "w") as file:
      ...     _ = file.write("one fish\\ntwo fish\\n")
      >>> fn = estimator_io.text_input_fn(path, batch_size=2)
      >>> next(fn.dataset("eval").as_numpy_iterator())["text"].tolist()
      [b'one fish', b'two fish']
    """
    checked = make_options(options)
    found = find_files(files, None, "*.txt")
    layout = Layout(
        compression=find_compression(found.value, compression),
        skip_lines=skip_lines,
        comment=comment,
        keep_blank=keep_blank,
    )
    if stream is None:
        stream = streams_by_default(found.value, layout)
    chosen = find_files(files, split) if stream and split is not None else found
    decode = functools.partial(line_text, key=feature)
    classes = None
    if labels is not None:
        column, classes = file_labels(found, chosen, labels, split if stream else None)
        decode = functools.partial(decode, labels=column)
    source = line_source(chosen, layout, decode, stream=stream, split=None if stream else split)
    source.class_names = classes
    return StagedInputFn(source, checked)

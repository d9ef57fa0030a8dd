"""Finds slow and wrong input pipelines in source code, without importing it or TensorFlow.

::

    analysis/      what a program does with tf.data: names, pipelines, input functions
    rules/         one rule a file: what is wrong, and where
    linter         source → findings; files → findings, in several processes
    noqa, settings what a user leaves out
    fixes          edits that mend findings (LibCST), comments and layout kept
    formats/       text, json, github, sarif
    page           docs/lint.md
"""

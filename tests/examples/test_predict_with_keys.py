"""The example joins every prediction to its file."""

import glob

from examples import predict_with_keys


def test_every_file_gets_one_prediction(tmp_path):
    found = predict_with_keys.main(str(tmp_path / "model"), steps=2)
    assert sorted(found) == sorted(glob.glob(predict_with_keys.FILES))
    assert set(found.values()) <= {"en", "es", "fr", "it", "ru"}

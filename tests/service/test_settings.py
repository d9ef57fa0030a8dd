"""What may be said of a service, and what contradicts it."""

import numpy as np
import pytest

import estimator_io
from estimator_io import OptionError, Service

ARRAY = {"x": np.arange(4)}


def made(**options):
    return estimator_io.input_fn(ARRAY, batch_size=2, **options)


@pytest.mark.parametrize(
    ("arguments", "said"),
    [
        ({"address": "host"}, "address is unknown"),
        ({"address": "http://host:1"}, "address is unknown"),
        ({"address": "host:99999"}, "address is unknown"),
        ({"address": 3}, "address is unknown"),
        ({"address": "h:1", "sharding": "FILE"}, "sharding is unknown"),
        ({"address": "h:1", "compression": "gzip"}, "compression is unknown"),
        ({"address": "h:1", "timeout": 0}, "timeout must be seconds"),
        ({"address": "h:1", "job_name": ""}, "job_name must be a text"),
        ({"address": "h:1", "max_outstanding_requests": 0}, "at least 1"),
        ({"address": "h:1", "consumer_index": 0}, "together"),
        ({"address": "h:1", "consumer_index": 0, "num_consumers": 2}, "together"),
        (
            {"address": "h:1", "consumer_index": 2, "num_consumers": 2, "job_name": "j"},
            "from 0 to num_consumers",
        ),
        ({"address": "local", "sharding": "static"}, "sharding is for a service in other"),
        ({"address": "local", "job_name": "mine"}, "job_name is for a service in other"),
    ],
)
def test_what_cannot_be_is_refused_by_its_name(arguments, said):
    with pytest.raises(OptionError, match=said):
        Service(**arguments)


@pytest.mark.parametrize("address", ["grpc://[::1]:5050", "grpc://host:5050", "host:5050"])
def test_an_address_is_understood_with_and_without_its_scheme(address):
    assert Service(address).target == "grpc://" + address.removeprefix("grpc://")


@pytest.mark.parametrize(
    ("host", "compression", "expected"),
    [
        ("localhost", "auto", None),
        ("127.0.0.1", "auto", None),
        ("far.example", "auto", "AUTO"),
        ("far.example", "none", None),
        ("localhost", "snappy", "SNAPPY"),
    ],
)
def test_batches_are_compressed_only_on_their_way_to_another_host(host, compression, expected):
    assert Service(f"{host}:1", compression=compression).compresses == expected


@pytest.mark.parametrize("service", ["local", "grpc://localhost:1"])
def test_a_service_cannot_continue_where_training_stood(service):
    with pytest.raises(OptionError, match=r"position='continue'.*what was on its way is lost"):
        made(service=service)


def test_a_live_pipeline_has_no_end_of_its_own():
    with pytest.raises(OptionError, match="epochs=3"):
        made(service="local", position="restart", epochs=3)


def test_consumers_that_take_turns_have_no_end():
    service = Service("h:1", job_name="j", consumer_index=0, num_consumers=2)
    with pytest.raises(OptionError, match="take turns would wait"):
        made(service=service, position="restart", epochs=1)


def test_workers_do_not_cache_what_they_happened_to_be_handed():
    with pytest.raises(OptionError, match="cache='memory'"):
        made(service="h:1", position="restart", cache="memory")


def test_what_is_no_address_at_all_is_refused():
    with pytest.raises(OptionError, match="service is no address"):
        made(service=5050, position="restart")


def test_the_repr_shows_where_the_stages_run():
    assert "live pipeline in this process" in repr(made(service="local", position="restart"))
    text = repr(made(service=Service("h:1", sharding="static"), position="restart"))
    assert "grpc://h:1 up to the batch, sharding static" in text


def test_the_spec_is_known_without_the_service():
    fn = made(service="h:1", position="restart")
    assert fn.element_spec["x"].shape.as_list() == [None]


def test_the_printed_program_enters_the_service_behind_the_batch():
    text = made(service="h:1", position="restart", drop_remainder=True).source_code()
    assert "service='grpc://h:1'" in text
    assert text.index(".batch(2, drop_remainder=True)") < text.index("in_service,\n")
    assert "estimator_io" not in text
    compile(text, "printed", "exec")

"""The value of a machine's token: new with its boot data, and with nothing else."""

import re

from kube.token_value import machine_token, secret_name

SEED = "5eed" * 16


def test_a_token_has_the_form_that_kubeadm_takes() -> None:
    token = machine_token(SEED, "cpu-1", "{}")
    assert re.fullmatch(r"[a-z0-9]{6}\.[a-z0-9]{16}", token)
    assert secret_name(token) == f"bootstrap-token-{token[:6]}"


def test_a_machine_keeps_its_token_as_long_as_its_boot_data() -> None:
    assert machine_token(SEED, "cpu-1", "{}") == machine_token(SEED, "cpu-1", "{}")


def test_other_boot_data_another_machine_and_another_seed_each_have_another_token() -> None:
    tokens = {
        machine_token(SEED, "cpu-1", "{}"),
        machine_token(SEED, "cpu-1", "{ }"),
        machine_token(SEED, "cpu-2", "{}"),
        machine_token("0" * 64, "cpu-1", "{}"),
    }
    assert len(tokens) == 4
    assert len({secret_name(token) for token in tokens}) == 4

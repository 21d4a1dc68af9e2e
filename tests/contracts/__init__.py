"""One suite per port, run for each adapter."""

import pytest

pytest.register_assert_rewrite("tests.contracts.eventlog_contract", "tests.contracts.eventlog_laws", "tests.contracts.interrupts_contract")

# SPDX-License-Identifier: Apache-2.0
"""Single tests that take long: only `./dev check --all` runs them."""
import os
import unittest

slow = unittest.skipUnless(os.environ.get("CLEAVE_SLOW_TESTS"), "slow: CLEAVE_SLOW_TESTS=1 runs it")

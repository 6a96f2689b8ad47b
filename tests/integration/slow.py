# SPDX-License-Identifier: Apache-2.0
"""Single tests that take long: `./dev check --all` alone runs them."""
import os
import unittest

slow = unittest.skipUnless(os.environ.get("CLEAVE_SLOW_TESTS"), "slow: CLEAVE_SLOW_TESTS=1 runs it")

#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the NVML double.

usage: selftest.py FOLDER DOUBLE_NVML FACTS [NAME...]
"""
import sys
import unittest

import harness

MODULES = ("test_devices", "test_instances", "test_compute", "test_mode", "test_tables",
           "test_versions", "test_faults", "test_processes", "test_watch")


def main():
    harness.Setup.folder, harness.Setup.control, harness.Setup.facts = sys.argv[1:4]
    names = sys.argv[4:] or MODULES
    suite = unittest.defaultTestLoader.loadTestsFromNames(names)
    result = unittest.TextTestRunner(verbosity=2).run(suite)
    return not result.wasSuccessful()


if __name__ == "__main__":
    sys.exit(main())

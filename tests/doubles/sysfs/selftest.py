#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Tests the sysfs double: every rule of the README through a real mount.

usage: selftest.py CLEAVE_DOUBLE_SYSFS [unittest arguments]"""
import sys
import unittest

from selftest_amd import Amd
from selftest_case import PROGRAM
from selftest_control import Faults, Life
from selftest_intel import Intel
from selftest_nvidia import Mdev, VendorVfio
from selftest_pci import Files, Sriov
from sysfs_double import SKIP, Double, Unavailable

CASES = (Files, Sriov, Amd, Intel, VendorVfio, Mdev, Faults, Life)


def load_tests(loader, *_):
    return unittest.TestSuite(map(loader.loadTestsFromTestCase, CASES))


def main():
    try:
        with Double(PROGRAM, {"devices": []}):
            pass
    except Unavailable as reason:
        print(f"skipped: {reason}")
        sys.exit(SKIP)
    unittest.main()


if __name__ == "__main__":
    main()

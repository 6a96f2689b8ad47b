#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Fuzzes every target for so many seconds: run.sh SECONDS.
set -eu
cd "$(dirname "$0")/../.."
exec ./dev fuzz "${1:-60}"

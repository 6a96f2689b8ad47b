#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Fetches an evaluator of CEL, for the tests of the chart's admission policies (test_policies.py),
# from npm: Debian has none.
set -eu
cel=${XDG_CACHE_HOME:-$HOME/.cache}/cleave/cel-0.6.1
[ ! -e "$cel" ] || exit 0
mkdir -p "${cel%/*}"
folder=$(mktemp -d "${cel%/*}/new-XXXXXX")
trap 'rm -rf "$folder"' EXIT
npm install --silent --no-audit --no-fund --ignore-scripts --prefix "$folder" \
	@bufbuild/cel@0.6.1 >/dev/null 2>&1
mv "$folder" "$cel"

#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# $CLEAVED with the capabilities that $UNIT leaves it, less $WITHOUT, for the tests of the agent.
exec /usr/bin/python3 "$(dirname "$0")/confine.py" ${WITHOUT:+"--without=$WITHOUT"} "$UNIT" "$CLEAVED" "$@"

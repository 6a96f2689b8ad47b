#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# $CLEAVED with what $UNIT leaves it, less $WITHOUT, to be tested in its place.
exec /usr/bin/python3 "$(dirname "$0")/confine.py" ${WITHOUT:+"--without=$WITHOUT"} "$UNIT" "$CLEAVED" "$@"

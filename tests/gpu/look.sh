#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: look.sh PYTHON BUILD [--packed] [--minutes N]
# Checks this machine's GPUs, from the top of the tree.  A machine for a pack may be lent: there the
# default limit is ten minutes, and gpu-results.json has the findings after each check.
set -eu

python=$1 build=$2 packed='' minutes=''
shift 2
if [ "${1-}" = --packed ]; then
	packed=1 minutes=10
	shift
fi
if [ "${1-}" = --minutes ]; then
	minutes=${2:?--minutes takes how many}
fi

if [ "${CLEAVE_GPU_NVML-}" ]; then
	exec "$python" tests/gpu/verify.py --build "$build"
fi
bad=0
"$python" tests/gpu/verify.py --build "$build" ${minutes:+--limit 60} \
	--write-docs docs/gpu-verification.md || bad=1
if [ -e /dev/nvidiactl ]; then
	"$python" tests/gpu/verify_cuda.py --build "$build" ${minutes:+--minutes "$minutes"} \
		${packed:+--results gpu-results.json} --write-docs docs/gpu-verification.md || bad=1
else
	tests/gpu/share-opencl.sh "$build" || bad=1
fi
exit "$bad"

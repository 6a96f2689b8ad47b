#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# usage: share-opencl.sh BUILD
# Shares of this machine's GPU through OpenCL.
set -eu

case $1 in
/*) build=$1 ;;
*) build=$PWD/$1 ;;
esac

# The OpenCL drivers except for those of the CPU.
vendors=$build/gpu-vendors
rm -rf "$vendors"
mkdir -p "$vendors"
for icd in "${OCL_ICD_VENDORS:-/etc/OpenCL/vendors}"/*.icd; do
	case $icd in
	*/pocl*.icd) ;;
	*) [ ! -e "$icd" ] || cp "$icd" "$vendors" ;;
	esac
done
export OCL_ICD_VENDORS="$vendors"

echo "==> what OpenCL shows without the CPU"
if command -v clinfo >/dev/null; then
	clinfo -l | grep . || {
		echo "a GPU driver is there and OpenCL shows no GPU: install its OpenCL part"
		exit 1
	}
else
	echo "==> no clinfo here, so it is not asked"
fi

echo "==> shares of it"
exec python3 bench/run.py --build "$build" shares --case three

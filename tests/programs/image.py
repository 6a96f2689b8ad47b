# SPDX-License-Identifier: Apache-2.0
"""A program for OpenCV: filters on images that live on the device (UMat)."""
import hashlib
import sys

import cv2
import numpy

cv2.ocl.setUseOpenCL(True)
if not cv2.ocl.haveOpenCL() or not cv2.ocl.useOpenCL():
    sys.exit("OpenCV finds no OpenCL")
host = numpy.random.default_rng(2).integers(0, 256, (1024, 1024), dtype=numpy.uint8)
image = cv2.UMat(host)
for _ in range(8):
    blurred = cv2.GaussianBlur(image, (5, 5), 0)
    _, mask = cv2.threshold(blurred, 127, 255, cv2.THRESH_BINARY)
    image = cv2.bitwise_xor(blurred, mask)
print(hashlib.sha256(image.get().tobytes()).hexdigest())

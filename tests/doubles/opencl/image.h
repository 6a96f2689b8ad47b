/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "dcl.h"

/* The size of a pixel, 0 for an unsupported format. */
size_t dcl_format_bytes(
	const cl_image_format *format, size_t *channels, size_t *channel_bytes);

/* Writes one pixel of this colour (four floats, ints or unsigned ints, as the format
 * says) to `ret`, which holds 16 bytes. */
void dcl_format_pixel(const cl_image_format *format, const void *colour, uint8_t *ret);

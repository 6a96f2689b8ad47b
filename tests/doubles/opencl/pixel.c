/* SPDX-License-Identifier: Apache-2.0 */
#include "image.h"
#include <math.h>
#include <string.h>

/* A fill colour as the bytes of one pixel.  Only clEnqueueFillImage needs it. */

/* Order of the colour's components (r, g, b, a) in the pixel. */
/* clang-format off */
static const struct { cl_channel_order order; int8_t component[4]; } places[] = {
	{ CL_R, { 0, -1, -1, -1 } }, { CL_A, { 3, -1, -1, -1 } },
	{ CL_LUMINANCE, { 0, -1, -1, -1 } }, { CL_INTENSITY, { 0, -1, -1, -1 } },
	{ CL_DEPTH, { 0, -1, -1, -1 } }, { CL_RG, { 0, 1, -1, -1 } },
	{ CL_RA, { 0, 3, -1, -1 } }, { CL_RGBA, { 0, 1, 2, 3 } },
	{ CL_BGRA, { 2, 1, 0, 3 } }, { CL_ARGB, { 3, 0, 1, 2 } },
	{ CL_sRGBA, { 0, 1, 2, 3 } }, { CL_sBGRA, { 2, 1, 0, 3 } },
};
/* clang-format on */

static uint16_t half_of(float f)
{
	uint16_t sign = signbit(f) ? 0x8000 : 0;
	int exponent;
	float m;

	f = fabsf(f);
	if (isnan(f))
		return 0x7e00;
	if (f >= 65520.0f)
		return sign | 0x7c00;
	if (f < 0x1p-14f)
		return sign | (uint16_t)lrintf(f * 0x1p24f);
	m = frexpf(f, &exponent); /* f = m * 2^exponent, m in [0.5, 1) */
	/* A mantissa that rounds up to 2048 carries into the exponent, which is
	 * correct. */
	return sign | (uint16_t)(((exponent + 13) << 10) + (int)lrintf(m * 2048.0f));
}

static int32_t scaled(float f, float low, float high)
{
	f = f * high;
	return (int32_t)lrintf(f < low * high ? low * high : f > high ? high : f);
}

static int64_t clamped(int64_t v, int64_t low, int64_t high)
{
	return v < low ? low : v > high ? high : v;
}

static void put(uint8_t *at, int64_t value, size_t bytes)
{
	memcpy(at, &value, bytes);
}

static void put_channel(cl_channel_type type, const void *component, uint8_t *at)
{
	uint32_t u;
	int32_t i;
	float f;

	memcpy(&u, component, sizeof(u));
	memcpy(&i, component, sizeof(i));
	memcpy(&f, component, sizeof(f));
	switch (type) {
	case CL_SNORM_INT8:
		put(at, scaled(f, -1, 127), 1);
		break;
	case CL_SNORM_INT16:
		put(at, scaled(f, -1, 32767), 2);
		break;
	case CL_UNORM_INT8:
		put(at, scaled(f, 0, 255), 1);
		break;
	case CL_UNORM_INT16:
		put(at, scaled(f, 0, 65535), 2);
		break;
	case CL_SIGNED_INT8:
		put(at, clamped(i, -128, 127), 1);
		break;
	case CL_SIGNED_INT16:
		put(at, clamped(i, -32768, 32767), 2);
		break;
	case CL_UNSIGNED_INT8:
		put(at, clamped(u, 0, 255), 1);
		break;
	case CL_UNSIGNED_INT16:
		put(at, clamped(u, 0, 65535), 2);
		break;
	case CL_HALF_FLOAT:
		put(at, half_of(f), 2);
		break;
	default:
		put(at, u, 4);
		break;
	}
}

void dcl_format_pixel(const cl_image_format *format, const void *colour, uint8_t *ret)
{
	size_t channels, channel_bytes;

	if (!dcl_format_bytes(format, &channels, &channel_bytes))
		return;
	for (size_t p = 0; p < sizeof(places) / sizeof(places[0]); p++) {
		if (places[p].order != format->image_channel_order)
			continue;
		for (size_t c = 0; c < channels; c++)
			put_channel(format->image_channel_data_type,
				(const char *)colour + 4 * places[p].component[c],
				ret + c * channel_bytes);
	}
}

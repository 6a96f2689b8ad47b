/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* What commands do to memory.  The machine says which commands have ended, in their
 * order; the bytes are moved by this process, before it can see that they have not been.
 */

struct effect {
	char *dst;
	const char *src;             /* NULL: fill */
	size_t width, height, depth; /* bytes, rows, slices */
	size_t dst_pitch, src_pitch, dst_slice, src_slice;
	uint32_t value, element;  /* of a fill: bytes */
	void *owned;              /* freed with it */
	void (*call)(void *user); /* instead of bytes: done in the same order */
	void *user;
	uint32_t again;      /* so many times more before it is freed */
	struct effect *next; /* of the same command */
};

struct effect *dgp_effect_new(void);
struct effect *dgp_effect_copy(char *dst, const char *src, size_t bytes);
struct effect *dgp_effect_fill(char *dst, uint32_t value, uint32_t element, size_t count);
void dgp_effect_free(struct effect *effect);
void dgp_effect_do(const struct effect *effect);

/* Does what has ended and was not done. */
void dgp_effects_apply(void);
/* The same, if there is much of it. */
void dgp_effects_trim(void);

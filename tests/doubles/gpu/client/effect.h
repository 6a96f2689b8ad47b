/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <stddef.h>
#include <stdint.h>

/* What commands do to memory. The machine reports completed commands in order; this
 * process moves the bytes before it can observe the completion. */

struct effect {
	char *dst;
	const char *src;             /* NULL: fill */
	size_t width, height, depth; /* bytes, rows, slices */
	size_t dst_pitch, src_pitch, dst_slice, src_slice;
	uint32_t value, element;  /* of a fill: bytes */
	void *owned;              /* freed with it */
	void (*call)(void *user); /* instead of bytes: called in the same order */
	void *user;
	uint32_t again;      /* how many more times it runs before it is freed */
	struct effect *next; /* of the same command */
};

struct effect *dgp_effect_new(void);
struct effect *dgp_effect_copy(char *dst, const char *src, size_t bytes);
struct effect *dgp_effect_fill(char *dst, uint32_t value, uint32_t element, size_t count);
void dgp_effect_free(struct effect *effect);
void dgp_effect_do(const struct effect *effect);

/* Applies the effects of completed commands. */
void dgp_effects_apply(void);
/* The same, if many are pending. */
void dgp_effects_trim(void);

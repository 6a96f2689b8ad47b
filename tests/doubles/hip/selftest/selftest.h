/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "../../gpu/selftest/run.h"
#include "../hsa/functions.h"
#include "../lib/functions.h"

#define MIB ((size_t)1 << 20)
#define GIB ((size_t)1 << 30)

extern const char test_image[]; /* a module with the kernels of the tests */

struct func *kernel(const char *name);
/* One thread; the parameters are used by those kernels that have any. */
void launch(
	struct func *function, struct stream *stream, uint64_t first, uint32_t second);
/* The stream stays where it is until the word is 1. */
uint32_t *hold(struct stream *stream);
float elapsed_ms(struct event *from, struct event *to);

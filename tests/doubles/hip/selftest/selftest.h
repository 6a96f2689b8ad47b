/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "../../gpu/selftest/run.h"
#include "../hsa/functions.h"
#include "../lib/functions.h"

#define MIB ((size_t)1 << 20)
#define GIB ((size_t)1 << 30)

extern const char test_image[]; /* a module with the tests' kernels */

struct func *kernel(const char *name);
/* Launches one thread; only some kernels use the parameters. */
void launch(
	struct func *function, struct stream *stream, uint64_t first, uint32_t second);
/* Blocks the stream until the returned word is 1. */
uint32_t *hold(struct stream *stream);
float elapsed_ms(struct event *from, struct event *to);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

/* A file that the user named, "-" for standard input, as it is. */
struct clv_input {
	char *text; /* owned, with a NUL behind it */
	size_t n_bytes;
	char name[100]; /* what messages call it: the path, or its end */
};

/* What the agent takes of a layout. */
#define CLV_INPUT_LAYOUT_BYTES 65536u

/* 0, or an exit code after having said why. */
int clv_input_read(const char *path, size_t max_bytes, struct clv_input *ret);
void clv_input_clear(struct clv_input *input);
#define _cleanup_input_ __attribute__((cleanup(clv_input_clear)))

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>

/* The content of a file that the user named; "-" is standard input. */
struct clv_input {
	char *text; /* owned, with a NUL behind it */
	size_t n_bytes;
	char name[100]; /* for messages: the path, or its end */
};

/* The size of a layout that the agent accepts. */
#define CLV_INPUT_LAYOUT_BYTES 65536u

/* Returns 0, or an exit code after printing the error.  The caller clears *ret. */
int clv_input_read(const char *path, size_t max_bytes, struct clv_input *ret);
void clv_input_clear(struct clv_input *input);
#define _cleanup_input_ __attribute__((cleanup(clv_input_clear)))

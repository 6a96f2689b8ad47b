/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "objects.h"

/* Modules are text, which the README describes. Functions have the first n of these
 * parameters, one after the other. */
struct func_args {
	uint64_t first;
	uint32_t second;
	uint64_t third;
	uint32_t fourth, fifth;
};
#define DCU_ARGS_MAX 5

struct func_arg {
	size_t offset, bytes;
};
extern const struct func_arg dcu_func_args[DCU_ARGS_MAX];
unsigned dcu_func_n_args(const struct func *func);

/* Takes the memory of the function's code if it is not loaded. */
int dcu_func_load(struct func *func, struct ctx *ctx);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "cuda.h"
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>

struct case_of_test {
	const char *name;
	void (*run)(void);
	const char *options; /* the machine's file `cuda` */
	const char *node;    /* NULL: one H100 */
};

#define IS(code, call) is(code, call, __FILE__, __LINE__, #call)
#define OK(call) IS(0, call)
#define CHECK(condition) check(condition, __FILE__, __LINE__, #condition)
/* What programs have of a T4: 15,360 MiB less what the driver keeps. */
#define T4_BYTES ((size_t)(15360 - 266) << 20)
/* Both ends count. */
#define BETWEEN(low, value, high) between(low, value, high, __FILE__, __LINE__, #value)

void is(int expected, int code, const char *file, int line, const char *what);
void check(bool condition, const char *file, int line, const char *what);
void between(double low, double value, double high, const char *file, int line,
	const char *what);

/* cuInit, the first GPU's context, and a module with the kernels of the tests. */
void begin(void);
handle kernel(const char *name);
/* One block; the parameters are used by those kernels that have any. */
void launch(handle function, handle stream, uint64_t first, uint32_t second);

uint64_t now_ns(void);
void sleep_ms(unsigned ms);

/* The number behind `word` in the first line of the machine's statistics that begins like
 * `line`; -1 where there is none. */
long long stat_of(const char *line, const char *word);
char *ask(const char *what); /* to be freed */

extern const char *test_folder;

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include "../hsa/functions.h"
#include "../lib/functions.h"
#include <stdio.h>
#include <stdlib.h>

struct case_of_test {
	const char *name;
	void (*run)(void);
	const char *options; /* the machine's file `hip` */
	const char *node;    /* NULL: one MI210 */
};

#define IS(code, call) is(code, call, __FILE__, __LINE__, #call)
#define OK(call) IS(0, call)
#define CHECK(condition) check(condition, __FILE__, __LINE__, #condition)
/* Both ends count. */
#define BETWEEN(low, value, high) between(low, value, high, __FILE__, __LINE__, #value)

#define MIB ((size_t)1 << 20)
#define GIB ((size_t)1 << 30)

void is(int expected, int code, const char *file, int line, const char *what);
void check(bool condition, const char *file, int line, const char *what);
void between(double low, double value, double high, const char *file, int line,
	const char *what);

extern const char *test_folder;
extern const char test_image[]; /* a module with the kernels of the tests */

struct func *kernel(const char *name);
/* One thread; the parameters are used by those kernels that have any. */
void launch(
	struct func *function, struct stream *stream, uint64_t first, uint32_t second);
/* The stream stays where it is until the word is 1. */
uint32_t *hold(struct stream *stream);
float elapsed_ms(struct event *from, struct event *to);

uint64_t now_ns(void);
void sleep_ms(unsigned ms);

/* The number behind `word` in the first line of the machine's statistics that begins like
 * `line`; -1 where there is none. */
long long stat_of(const char *line, const char *word);
char *ask(const char *what); /* to be freed */
void write_file(const char *name, const char *text);

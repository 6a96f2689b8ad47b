/* SPDX-License-Identifier: Apache-2.0 */
#pragma once
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

/* Shared by the selftests of the doubles that compute: a machine and a process for each
 * case, TAP on stdout. */

struct case_of_test {
	const char *name; /* NULL ends the table */
	void (*run)(void);
	const char *options; /* content of the machine's file of the vendor */
	const char *node;    /* its GPUs */
};

struct test_vendor {
	const char *folder_variable;
	const char *node_file, *node;
	const char *options_file, *options;
	const char *empty_file; /* NULL: none */
};

#define IS(code, call) is(code, call, __FILE__, __LINE__, #call)
#define OK(call) IS(0, call)
#define CHECK(condition) check(condition, __FILE__, __LINE__, #condition)
/* Both bounds are allowed. */
#define BETWEEN(low, value, high) between(low, value, high, __FILE__, __LINE__, #value)

void is(int expected, int code, const char *file, int line, const char *what);
void check(bool condition, const char *file, int line, const char *what);
void between(double low, double value, double high, const char *file, int line,
	const char *what);

uint64_t now_ns(void);
void sleep_ms(unsigned ms);

extern const char *test_folder;
void write_file(const char *name, const char *text);

/* Returns the number after `word` in the first line of the machine's statistics with this
 * prefix; -1 without one. */
long long stat_of(const char *line, const char *word);
char *ask(const char *what); /* caller frees */

/* argv: SERVER [CASE]; returns the exit status. */
int test_run(int argc, char **argv, const struct test_vendor *vendor,
	const struct case_of_test *const *all, size_t n_all);

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Each kind of record of the state file, through the store's header only: a record is
 * read as it was written, its next version replaces it with all members that may change,
 * a rolled back transaction leaves no trace, and a deleted record is gone.
 * tests/unit/test-store.c tests what is deleted when. */

#define STORE_LARGE (UINT64_C(1) << 62)

/* v: 1 or 2, the version that is written; they differ in all members that may change. */
struct store_kind {
	const char *name;
	int (*put)(struct clv_store *store, unsigned int v);
	int (*take_out)(struct clv_store *store); /* NULL: records are never deleted */
	/* A line for each record, with all of its members. */
	void (*read)(struct clv_store *store, FILE *to);
	void (*expect)(FILE *to, unsigned int v);
	bool is_added; /* version 2 is added behind version 1, and does not replace it */
	bool is_transaction; /* put is a transaction by itself */
};

/* Writes a line, for read and expect. */
int store_text(void *userdata, const char *text);

/* For cmocka: set-up and tear-down with a file for each test, and the file's path. */
int store_begin(void **state);
int store_end(void **state);
extern char store_path[64];

struct clv_store *store_reopen(struct clv_store *store);

/* Runs a test for each kind. */
int store_kinds_run(const struct store_kind *kinds, size_t n_kinds);

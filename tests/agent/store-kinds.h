/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/store/store.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

/* Each kind of record of the state file, by the store's header alone: it comes back as it
 * was, its next version takes its place, a transaction that is given up leaves no trace,
 * and what is taken out is gone.  What may be changed of a record is changed.  What goes
 * when is tests/unit/test-store.c's. */

#define STORE_LARGE (UINT64_C(1) << 62)

/* v: 1 or 2, the version that is put; it differs in all that may change. */
struct store_kind {
	const char *name;
	int (*put)(struct clv_store *store, unsigned int v);
	int (*take_out)(struct clv_store *store); /* NULL: it is never taken out */
	/* A line for each record, with all of its members. */
	void (*read)(struct clv_store *store, FILE *to);
	void (*expect)(FILE *to, unsigned int v);
	bool is_added; /* a second one stands behind the first instead of in its place */
	bool is_transaction; /* to put it is one by itself */
};

/* A line, for read and expect. */
int store_text(void *userdata, const char *text);

/* For cmocka: a file for each test; its name. */
int store_begin(void **state);
int store_end(void **state);
extern char store_path[64];

struct clv_store *store_reopen(struct clv_store *store);

/* A test for each kind. */
int store_kinds_run(const struct store_kind *kinds, size_t n_kinds);

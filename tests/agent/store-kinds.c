/* SPDX-License-Identifier: Apache-2.0 */
#include "store-kinds.h"

#include "base/cleanup.h"

#include <errno.h>
#include <inttypes.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define KINDS_MAX 32

/* The records that were read, as text: a line for each. */
struct text {
	char *data;
	size_t n_bytes;
	FILE *to;
};

static void text_begin(struct text *text)
{
	text->to = open_memstream(&text->data, &text->n_bytes);
}

static void text_end(struct text *text)
{
	fclose(text->to);
}

int store_text(void *userdata, const char *text)
{
	fprintf(userdata, "%s\n", text);
	return 0;
}

static char folder[] = "/tmp/clv-rows-XXXXXX";
char store_path[64];

int store_begin(void **state)
{
	strcpy(folder + strlen(folder) - 6, "XXXXXX");
	if (!mkdtemp(folder))
		return -1;
	snprintf(store_path, sizeof(store_path), "%s/s.db", folder);
	return 0;
}

int store_end(void **state)
{
	static const char *const endings[] = {"", "-wal", "-shm"};
	char name[80];

	for (size_t i = 0; i < CLV_ARRAY_SIZE(endings); i++) {
		snprintf(name, sizeof(name), "%s%s", store_path, endings[i]);
		unlink(name);
	}
	return rmdir(folder);
}

struct clv_store *store_reopen(struct clv_store *store)
{
	struct clv_store *again = NULL;

	clv_store_free(store);
	assert_int_equal(clv_store_open(store_path, &again, NULL), 0);
	return again;
}

/* Compares the stored versions of the record with "", "1", "2" or "12". */
static void check(
	const struct store_kind *kind, struct clv_store *store, const char *versions)
{
	struct text has, expected;

	text_begin(&has);
	kind->read(store, has.to);
	text_end(&has);
	text_begin(&expected);
	for (const char *v = versions; *v; v++)
		kind->expect(expected.to, (unsigned int)(*v - '0'));
	text_end(&expected);
	assert_string_equal(has.data, expected.data);
	free(has.data);
	free(expected.data);
}

/* A rolled back transaction leaves no trace; one that is committed is stored. */
static void check_transactions(const struct store_kind *kind, struct clv_store *store)
{
	assert_int_equal(clv_store_begin(store, false, NULL), 0);
	assert_int_equal(kind->put(store, 1), 0);
	clv_store_rollback(store);
	check(kind, store, "");
	if (!kind->take_out)
		return;
	assert_int_equal(clv_store_begin(store, true, NULL), 0);
	assert_int_equal(kind->put(store, 1), 0);
	assert_int_equal(clv_store_commit(store, NULL), 0);
	check(kind, store, "1");
	assert_int_equal(kind->take_out(store), 0);
}

static void test_kind(void **state)
{
	const struct store_kind *kind = *state;
	const char *both = kind->is_added ? "12" : "2";
	struct clv_store *store = store_reopen(NULL);

	check(kind, store, "");
	if (!kind->is_transaction)
		check_transactions(kind, store);
	assert_int_equal(kind->put(store, 1), 0);
	check(kind, store, "1");
	store = store_reopen(store);
	check(kind, store, "1");
	assert_int_equal(kind->put(store, 2), 0);
	check(kind, store, both);
	store = store_reopen(store);
	check(kind, store, both);
	if (kind->take_out) {
		assert_int_equal(kind->take_out(store), 0);
		check(kind, store, "");
		store = store_reopen(store);
		check(kind, store, "");
		assert_int_equal(
			kind->take_out(store), 0); /* deleting it again is no error */
	}
	clv_store_free(store);
}

/* A copy has the record, and is a state file of its own. */
static void test_copy(void **state)
{
	const struct store_kind *kind = *state;
	struct clv_store *store = store_reopen(NULL), *copy = NULL;
	char to[80];

	assert_int_equal(kind->put(store, 1), 0);
	snprintf(to, sizeof(to), "%s/copy.db", folder);
	assert_int_equal(clv_store_copy(store, to, NULL), 0);
	if (kind->take_out)
		assert_int_equal(kind->take_out(store), 0);
	assert_int_equal(clv_store_open(to, &copy, NULL), 0);
	check(kind, copy, "1");
	clv_store_free(copy);
	clv_store_free(store);
	unlink(to);
}

int store_kinds_run(const struct store_kind *kinds, size_t n_kinds)
{
	struct CMUnitTest tests[2 * KINDS_MAX];
	static char names[KINDS_MAX][48];

	for (size_t i = 0; i < n_kinds && i < KINDS_MAX; i++) {
		void *state = (void *)&kinds[i];

		snprintf(names[i], sizeof(names[i]), "copy of a %s", kinds[i].name);
		tests[2 * i] = (struct CMUnitTest){
			kinds[i].name, test_kind, store_begin, store_end, state};
		tests[2 * i + 1] = (struct CMUnitTest){
			names[i], test_copy, store_begin, store_end, state};
	}
	return _cmocka_run_group_tests("tests", tests, 2 * n_kinds, NULL, NULL);
}

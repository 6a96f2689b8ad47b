/* SPDX-License-Identifier: Apache-2.0 */
#include "../../gpu/client/helper.h"
#include "internal.h"
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* Code objects: text that gives the duration of kernels. The readers, the executables
 * that it is loaded into, and their symbols, which are the kernels.
 *
 * cleave-double-module
 * kernel NAME NS [BYTES] | NAME param | NAME scaled NS | NAME store [NS]
 * kernel NAME fill | NAME copy
 * kernel NAME await [NS] | NAME relay [NS] | NAME serve [NS]
 * kernel ... units N
 * image BYTES */

#define FIRST_LINE "cleave-double-module"
#define KERNELS_MAX 16384

struct executable {
	struct agent *agent;
	uint64_t bytes; /* of the GPU */
	struct kernel *kernels;
	bool frozen;
};

struct reader {
	char *text;
};

static struct kernel kernels[KERNELS_MAX];
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

const struct kernel *dhs_kernel(uint64_t object)
{
	uintptr_t first = (uintptr_t)kernels;
	uint64_t i = (object - first) / sizeof(kernels[0]);

	if (object < first || i >= KERNELS_MAX || &kernels[i] != (void *)object ||
		!kernels[i].lives)
		return NULL;
	return &kernels[i];
}

static struct kernel *new_kernel(void)
{
	struct kernel *found = NULL;

	pthread_mutex_lock(&lock);
	for (uint32_t i = 0; i < KERNELS_MAX && !found; i++)
		if (!kernels[i].lives)
			found = &kernels[i];
	if (found) {
		memset(found, 0, sizeof(*found));
		found->lives = true;
	}
	pthread_mutex_unlock(&lock);
	return found;
}

/* --- Reading --- */

static const struct {
	const char *word;
	enum kernel_kind kind;
	bool needs_ns;
	uint32_t kernarg_bytes;
} kinds[] = {
	{"", KERNEL_PLAIN, true, 0},
	{"param", KERNEL_PARAM, false, 8},
	{"scaled", KERNEL_SCALED, true, 0},
	{"store", KERNEL_STORE, false, 12},
	{"fill", KERNEL_FILL, false, 56},
	{"copy", KERNEL_COPY, false, 72},
	{"await", KERNEL_AWAIT, false, 12},
	{"relay", KERNEL_RELAY, false, 28},
	{"serve", KERNEL_SERVE, false, 32},
};

static bool read_kind(struct executable *x, struct kernel *k, char **words, int n)
{
	char *end;

	for (size_t i = 1; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(kinds[i].word, words[0]) != 0)
			continue;
		k->kind = kinds[i].kind;
		k->ns = n > 1 ? strtoull(words[1], NULL, 0) : 0;
		return n > 1 || !kinds[i].needs_ns;
	}
	k->ns = strtoull(words[0], &end, 0);
	x->bytes += n > 1 ? strtoull(words[1], NULL, 0) : 0;
	return end != words[0] && !*end;
}

static bool add_kernel(struct executable *x, char **words, int n)
{
	struct kernel *k = new_kernel(), **last = &x->kernels;

	if (!k)
		return false;
	snprintf(k->name, sizeof(k->name), "%s", words[0]);
	k->name_number = dgp_name(k->name);
	k->executable = x;
	while (*last)
		last = &(*last)->next;
	*last = k;
	if (n > 3 && strcmp(words[n - 2], "units") == 0) {
		k->units = (uint32_t)strtoul(words[n - 1], NULL, 0);
		n -= 2;
		if (!k->units)
			return false;
	}
	return read_kind(x, k, words + 1, n - 1) &&
	       (k->kind < KERNEL_AWAIT || dgp_watch_memory());
}

static bool read_line(struct executable *x, char *line)
{
	char *words[8], *rest = NULL;
	int n = 0;

	for (char *w = strtok_r(line, " \t\r", &rest); w && n < 8;
		w = strtok_r(NULL, " \t\r", &rest))
		words[n++] = w;
	if (!n || words[0][0] == '#')
		return true;
	if (n == 2 && strcmp(words[0], "image") == 0) {
		x->bytes += strtoull(words[1], NULL, 0);
		return true;
	}
	return n >= 3 && strcmp(words[0], "kernel") == 0 &&
	       add_kernel(x, words + 1, n - 1);
}

static bool read_text(struct executable *x, const char *from)
{
	char *text = strdup(from), *rest = NULL;
	char *line = strtok_r(text, "\n", &rest);
	bool is_good = line && strcmp(line, FIRST_LINE) == 0;

	while (is_good && (line = strtok_r(NULL, "\n", &rest)))
		is_good = read_line(x, line);
	free(text);
	return is_good;
}

/* --- Readers and executables --- */

int dhs_hsa_code_object_reader_create_from_memory(
	const void *code, size_t bytes, hsa_handle *ret)
{
	struct reader *reader;

	if (!code || !bytes || !ret)
		return HSA_INVALID_ARGUMENT;
	reader = malloc(sizeof(*reader));
	reader->text = strndup(code, bytes);
	*ret = dhs_handle(reader);
	return 0;
}

int dhs_hsa_code_object_reader_destroy(hsa_handle handle)
{
	struct reader *reader = (struct reader *)(uintptr_t)handle;

	if (!reader)
		return 0x1021;
	free(reader->text);
	free(reader);
	return 0;
}

int dhs_hsa_executable_create_alt(
	int profile, int rounding, const char *options, hsa_handle *ret)
{
	if (!ret)
		return HSA_INVALID_ARGUMENT;
	*ret = dhs_handle(calloc(1, sizeof(struct executable)));
	return 0;
}

static void drop_code(struct executable *x)
{
	pthread_mutex_lock(&lock);
	for (struct kernel *k = x->kernels; k; k = k->next)
		k->lives = false;
	pthread_mutex_unlock(&lock);
	x->kernels = NULL;
}

int dhs_hsa_executable_destroy(hsa_handle handle)
{
	struct executable *x = (struct executable *)(uintptr_t)handle;

	if (!x)
		return HSA_INVALID_EXECUTABLE;
	drop_code(x);
	if (x->bytes && x->agent)
		dhs_give(x->agent, x->bytes);
	free(x);
	return 0;
}

int dhs_hsa_executable_load_agent_code_object(hsa_handle handle, hsa_agent agent_handle,
	hsa_handle reader, const char *options, hsa_handle *ret)
{
	struct executable *x = (struct executable *)(uintptr_t)handle;
	struct agent *agent = dhs_agent(agent_handle);
	int r = 0;

	if (!x)
		return HSA_INVALID_EXECUTABLE;
	if (!agent || agent->kind != HSA_DEVICE_GPU)
		return HSA_INVALID_AGENT;
	if (x->frozen)
		return HSA_FROZEN;
	if (!read_text(x, ((struct reader *)(uintptr_t)reader)->text))
		r = HSA_INVALID_CODE;
	else if (x->bytes)
		r = dhs_take(agent, x->bytes);
	if (r) {
		drop_code(x);
		x->bytes = 0;
		return r;
	}
	x->agent = agent;
	if (ret)
		*ret = handle;
	return 0;
}

int dhs_hsa_executable_freeze(hsa_handle handle, const char *options)
{
	struct executable *x = (struct executable *)(uintptr_t)handle;

	if (!x)
		return HSA_INVALID_EXECUTABLE;
	if (x->frozen)
		return HSA_FROZEN;
	x->frozen = true;
	return 0;
}

/* --- Symbols: "NAME.kd", or NAME as in the text --- */

int dhs_hsa_executable_get_symbol_by_name(
	hsa_handle handle, const char *name, const hsa_agent *agent, hsa_handle *ret)
{
	const struct executable *x = (const struct executable *)(uintptr_t)handle;
	size_t length;

	if (!x)
		return HSA_INVALID_EXECUTABLE;
	if (!name || !ret)
		return HSA_INVALID_ARGUMENT;
	length = strlen(name);
	if (length > 3 && strcmp(name + length - 3, ".kd") == 0)
		length -= 3;
	for (struct kernel *k = x->kernels; k; k = k->next) {
		if (strlen(k->name) != length || strncmp(k->name, name, length) != 0)
			continue;
		*ret = dhs_handle(k);
		return 0;
	}
	return HSA_INVALID_SYMBOL_NAME;
}

int dhs_hsa_executable_symbol_get_info(hsa_handle handle, int what, void *ret)
{
	const struct kernel *k = dhs_kernel(handle);
	char name[DGP_NAME_BYTES + 3];

	if (!k)
		return HSA_INVALID_SYMBOL;
	snprintf(name, sizeof(name), "%s.kd", k->name);
	switch (what) {
	case HSA_SYMBOL_TYPE:
		return dhs_give_u32(ret, 1);
	case HSA_SYMBOL_NAME_LENGTH:
		return dhs_give_u32(ret, (uint32_t)strlen(name));
	case HSA_SYMBOL_NAME:
		memcpy(ret, name, strlen(name));
		return 0;
	case HSA_SYMBOL_KERNARG_BYTES:
		return dhs_give_u32(ret, kinds[k->kind].kernarg_bytes);
	case HSA_SYMBOL_KERNARG_ALIGNMENT:
		return dhs_give_u32(ret, 16);
	case HSA_SYMBOL_GROUP_BYTES:
	case HSA_SYMBOL_PRIVATE_BYTES:
		return dhs_give_u32(ret, 0);
	case HSA_SYMBOL_KERNEL_OBJECT:
		*(uint64_t *)ret = dhs_handle(k);
		return 0;
	}
	return HSA_INVALID_ARGUMENT;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "module.h"
#include "../../gpu/client/helper.h"
#include "functions.h"
#include "memory.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#define FIRST_LINE "cleave-double-module"

/* --- Reading --- */

static bool read_relaunch(struct func *f, char *const *words, int n)
{
	f->relaunches = n > 1 ? strtoull(words[1], NULL, 0) : 0;
	f->ns = n > 2 ? strtoull(words[2], NULL, 0) : 0;
	return f->relaunches > 0;
}

static const struct {
	const char *word;
	enum func_kind kind;
	bool needs_number;
} kinds[] = {
	{"param", DCU_PARAM, false},
	{"scaled", DCU_SCALED, true},
	{"store", DCU_STORE, false},
	{"await", DCU_AWAIT, false},
	{"relay", DCU_RELAY, false},
	{"serve", DCU_SERVE, false},
};

static bool read_kind(struct func *f, char *const *words, int n)
{
	char *end;

	for (size_t i = 0; i < sizeof(kinds) / sizeof(kinds[0]); i++) {
		if (strcmp(kinds[i].word, words[0]) != 0)
			continue;
		f->kind = kinds[i].kind;
		f->ns = n > 1 ? strtoull(words[1], NULL, 0) : 0;
		return n > 1 || !kinds[i].needs_number;
	}
	if (strcmp(words[0], "relaunch") == 0)
		return read_relaunch(f, words, n);
	f->ns = strtoull(words[0], &end, 0);
	f->bytes = n > 1 ? strtoull(words[1], NULL, 0) : 0;
	return end != words[0] && !*end;
}

static bool add_kernel(struct module *m, char *const *words, int n)
{
	struct func *f = calloc(1, sizeof(*f)), **last = &m->funcs;

	f->magic = DCU_IS_FUNC;
	f->module = m;
	snprintf(f->name, sizeof(f->name), "%s", words[0]);
	f->name_number = dgp_name(f->name);
	while (*last)
		last = &(*last)->next;
	*last = f;
	if (n > 3 && strcmp(words[n - 2], "units") == 0) {
		f->units = (uint32_t)strtoul(words[n - 1], NULL, 0);
		n -= 2;
		if (!f->units)
			return false;
	}
	return read_kind(f, words + 1, n - 1) &&
	       (f->kind < DCU_AWAIT || dgp_watch_memory());
}

static bool read_line(struct module *m, char *line)
{
	char *words[8], *rest = NULL;
	int n = 0;

	for (char *w = strtok_r(line, " \t\r", &rest); w && n < 8;
		w = strtok_r(NULL, " \t\r", &rest))
		words[n++] = w;
	if (!n || words[0][0] == '#')
		return true;
	if (n == 2 && strcmp(words[0], "image") == 0) {
		m->bytes = strtoull(words[1], NULL, 0);
		return true;
	}
	return n >= 3 && strcmp(words[0], "kernel") == 0 &&
	       add_kernel(m, words + 1, n - 1);
}

/* PTX: an entry with a parameter named `ns` runs for that many nanoseconds. */
static bool read_ptx(struct module *m, const char *image)
{
	static const char begins[] = ".entry ", parameter[] = "(.param .u64 ns)";
	const char *at = image;

	while ((at = strstr(at, begins))) {
		size_t n = strcspn(at += strlen(begins), "(");
		char name[64], kind[] = "param";
		char *words[] = {name, kind};

		snprintf(name, sizeof(name), "%.*s", (int)n, at);
		if (strncmp(at + n, parameter, strlen(parameter)) == 0)
			add_kernel(m, words, 2);
	}
	return m->funcs;
}

static bool read_image(struct module *m, const char *image)
{
	char *text = strdup(image), *rest = NULL;
	char *line = strtok_r(text, "\n", &rest);
	bool is_good = line && strcmp(line, FIRST_LINE) == 0;

	while (is_good && (line = strtok_r(NULL, "\n", &rest)))
		is_good = read_line(m, line);
	free(text);
	return is_good;
}

/* --- Loading --- */

static void free_module(struct module *m)
{
	if (m->bytes && m->device)
		dcu_give(m->device, m->bytes);
	for (struct func *f = m->funcs; f; f = f->next) {
		if (f->loaded && f->bytes && m->device)
			dcu_give(m->device, f->bytes);
		f->magic = DCU_DEAD;
	}
	m->magic = DCU_DEAD;
}

static int load(const void *image, struct ctx *ctx, struct module **ret)
{
	struct module *m;
	int r = 0;

	if (!ret || !image)
		return DCU_INVALID_VALUE;
	m = calloc(1, sizeof(*m));
	m->magic = DCU_IS_MODULE;
	m->ctx = ctx;
	pthread_mutex_init(&m->lock, NULL);
	if (strncmp(image, ".version", 8) == 0
			? !read_ptx(m, image)
			: strncmp(image, FIRST_LINE, strlen(FIRST_LINE)) != 0 ||
				  !read_image(m, image))
		r = DCU_INVALID_IMAGE;
	else if (ctx && m->bytes)
		r = dcu_take(ctx->device, m->bytes);
	if (r) {
		m->bytes = 0;
		free_module(m);
		return r;
	}
	if (ctx)
		m->device = ctx->device;
	*ret = m;
	return 0;
}

int dcu_cuModuleLoadData(struct module **ret, const void *image)
{
	struct ctx *ctx = dcu_current();

	return ctx ? load(image, ctx, ret) : DCU_INVALID_CONTEXT;
}

static bool is_module(const struct module *m)
{
	return m && m->magic == DCU_IS_MODULE;
}

int dcu_cuModuleUnload(struct module *m)
{
	if (!is_module(m))
		return DCU_INVALID_HANDLE;
	if (m->ctx && m->ctx->magic == DCU_IS_CTX)
		dcu_ctx_await(m->ctx);
	free_module(m);
	return 0;
}

int dcu_cuModuleGetFunction(struct func **ret, struct module *m, const char *name)
{
	if (!is_module(m))
		return DCU_INVALID_HANDLE;
	if (!ret || !name)
		return DCU_INVALID_VALUE;
	for (struct func *f = m->funcs; f; f = f->next) {
		if (strcmp(f->name, name) != 0)
			continue;
		*ret = f;
		return 0;
	}
	return DCU_NOT_FOUND;
}

/* --- Libraries: modules of no context --- */

int dcu_cuLibraryLoadData(struct module **ret, const void *image, int *jit,
	void **jit_values, unsigned n_jit, int *options, void **values, unsigned n)
{
	return load(image, NULL, ret);
}

int dcu_cuLibraryGetKernel(struct func **ret, struct module *m, const char *name)
{
	return dcu_cuModuleGetFunction(ret, m, name);
}

static bool is_func(const struct func *f)
{
	return f && f->magic == DCU_IS_FUNC;
}

/* --- Functions --- */

/* CUDA's documentation of lazy loading: it may need the context to be idle. */
static int await_for_loading(struct ctx *ctx)
{
	const char *mode = getenv("CUDA_MODULE_LOADING");
	bool is_lazy = !mode || strcmp(mode, "EAGER") != 0;

	return dgp_hello.lazy_sync && is_lazy ? dcu_ctx_await(ctx) : 0;
}

int dcu_func_load(struct func *f, struct ctx *ctx)
{
	int r = 0;

	if (f->loaded)
		return 0;
	r = await_for_loading(ctx);
	if (r)
		return r;
	pthread_mutex_lock(&f->module->lock);
	if (!f->module->device) {
		r = f->module->bytes ? dcu_take(ctx->device, f->module->bytes) : 0;
		if (!r)
			f->module->device = ctx->device;
	}
	if (!r && !f->loaded && f->bytes)
		r = dcu_take(f->module->device, f->bytes);
	if (!r)
		f->loaded = true;
	pthread_mutex_unlock(&f->module->lock);
	return r;
}

int dcu_cuFuncLoad(struct func *f)
{
	struct ctx *ctx = dcu_current();

	if (!ctx)
		return DCU_INVALID_CONTEXT;
	return is_func(f) ? dcu_func_load(f, ctx) : DCU_INVALID_HANDLE;
}

const struct func_arg dcu_func_args[DCU_ARGS_MAX] = {
#define ARG(member)                                             \
	{                                                       \
		offsetof(struct func_args, member),             \
			sizeof(((struct func_args *)0)->member) \
	}
	ARG(first),
	ARG(second),
	ARG(third),
	ARG(fourth),
	ARG(fifth),
#undef ARG
};

unsigned dcu_func_n_args(const struct func *f)
{
	static const unsigned n[] = {[DCU_PARAM] = 1,
		[DCU_STORE] = 2,
		[DCU_AWAIT] = 2,
		[DCU_RELAY] = 4,
		[DCU_SERVE] = 5};

	return n[f->kind];
}

/* --- How many blocks fit --- */

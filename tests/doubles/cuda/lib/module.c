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

enum { EAGER = 1, LAZY = 2 };

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

static char *read_file(const char *path)
{
	int fd = path ? open(path, O_RDONLY | O_CLOEXEC) : -1;
	char *text = fd < 0 ? NULL : calloc(1, 65536);

	if (text && read(fd, text, 65535) < 0)
		text[0] = '\0';
	if (fd >= 0)
		close(fd);
	return text;
}

int dcu_cuModuleLoadData(struct module **ret, const void *image)
{
	struct ctx *ctx = dcu_current();

	return ctx ? load(image, ctx, ret) : DCU_INVALID_CONTEXT;
}

int dcu_cuModuleLoadDataEx(
	struct module **ret, const void *image, unsigned n, int *options, void **values)
{
	return dcu_cuModuleLoadData(ret, image);
}

int dcu_cuModuleLoadFatBinary(struct module **ret, const void *image)
{
	return dcu_cuModuleLoadData(ret, image);
}

int dcu_cuModuleLoad(struct module **ret, const char *path)
{
	char *text = read_file(path);
	int r = text ? dcu_cuModuleLoadData(ret, text) : DCU_FILE_NOT_FOUND;

	free(text);
	return r;
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

static unsigned count(const struct module *m)
{
	unsigned n = 0;

	for (const struct func *f = m->funcs; f; f = f->next)
		n++;
	return n;
}

int dcu_cuModuleGetFunctionCount(unsigned *ret, struct module *m)
{
	if (!is_module(m))
		return DCU_INVALID_HANDLE;
	*ret = count(m);
	return 0;
}

int dcu_cuModuleGetLoadingMode(int *ret)
{
	const char *mode = getenv("CUDA_MODULE_LOADING");

	*ret = mode && strcmp(mode, "EAGER") == 0 ? EAGER : LAZY;
	return 0;
}

int dcu_cuModuleGetGlobal_v2(
	uint64_t *ret, size_t *bytes, struct module *m, const char *name)
{
	return is_module(m) ? DCU_NOT_FOUND : DCU_INVALID_HANDLE;
}

/* --- Libraries: modules of no context --- */

int dcu_cuLibraryLoadData(struct module **ret, const void *image, int *jit,
	void **jit_values, unsigned n_jit, int *options, void **values, unsigned n)
{
	return load(image, NULL, ret);
}

int dcu_cuLibraryLoadFromFile(struct module **ret, const char *path, int *jit,
	void **jit_values, unsigned n_jit, int *options, void **values, unsigned n)
{
	char *text = read_file(path);
	int r = text ? load(text, NULL, ret) : DCU_FILE_NOT_FOUND;

	free(text);
	return r;
}

int dcu_cuLibraryUnload(struct module *m)
{
	return dcu_cuModuleUnload(m);
}

int dcu_cuLibraryGetKernel(struct func **ret, struct module *m, const char *name)
{
	return dcu_cuModuleGetFunction(ret, m, name);
}

int dcu_cuLibraryGetKernelCount(unsigned *ret, struct module *m)
{
	return dcu_cuModuleGetFunctionCount(ret, m);
}

int dcu_cuLibraryGetModule(struct module **ret, struct module *m)
{
	if (!is_module(m))
		return DCU_INVALID_HANDLE;
	*ret = m;
	return dcu_current() ? 0 : DCU_INVALID_CONTEXT;
}

static bool is_func(const struct func *f)
{
	return f && f->magic == DCU_IS_FUNC;
}

int dcu_cuKernelGetFunction(struct func **ret, struct func *f)
{
	if (!is_func(f))
		return DCU_INVALID_HANDLE;
	*ret = f;
	return dcu_current() ? 0 : DCU_INVALID_CONTEXT;
}

int dcu_cuKernelGetLibrary(struct module **ret, struct func *f)
{
	if (!is_func(f))
		return DCU_INVALID_HANDLE;
	*ret = f->module;
	return 0;
}

/* --- Functions --- */

/* CUDA's documentation of lazy loading: it may need the context to be idle. */
static int await_for_loading(struct ctx *ctx)
{
	int mode;

	dcu_cuModuleGetLoadingMode(&mode);
	return dgp_hello.lazy_sync && mode == LAZY ? dcu_ctx_await(ctx) : 0;
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

int dcu_cuFuncIsLoaded(int *ret, struct func *f)
{
	if (!is_func(f))
		return DCU_INVALID_HANDLE;
	*ret = f->loaded;
	return 0;
}

int dcu_cuFuncGetName(const char **ret, struct func *f)
{
	if (!is_func(f))
		return DCU_INVALID_HANDLE;
	*ret = f->name;
	return 0;
}

int dcu_cuKernelGetName(const char **ret, struct func *f)
{
	return dcu_cuFuncGetName(ret, f);
}

int dcu_cuFuncGetModule(struct module **ret, struct func *f)
{
	return dcu_cuKernelGetLibrary(ret, f);
}

int dcu_cuFuncGetAttribute(int *ret, int attribute, struct func *f)
{
	/* threads in a block, shared, constant and local bytes, registers, versions */
	static const int values[] = {1024, 0, 0, 0, 32, 90, 90, 0, 49152, -1};

	if (!is_func(f))
		return DCU_INVALID_HANDLE;
	if (!ret || attribute < 0 || attribute > 15)
		return DCU_INVALID_VALUE;
	*ret = attribute < 10 ? values[attribute] : 0;
	return 0;
}

int dcu_cuFuncSetAttribute(struct func *f, int attribute, int value)
{
	return is_func(f) ? 0 : DCU_INVALID_HANDLE;
}

int dcu_cuFuncSetCacheConfig(struct func *f, int config)
{
	return is_func(f) ? 0 : DCU_INVALID_HANDLE;
}

int dcu_cuKernelGetAttribute(int *ret, int attribute, struct func *f, int ordinal)
{
	if (!dcu_device_at(ordinal))
		return DCU_INVALID_DEVICE;
	return dcu_cuFuncGetAttribute(ret, attribute, f);
}

int dcu_cuKernelSetAttribute(int attribute, int value, struct func *f, int ordinal)
{
	if (!dcu_device_at(ordinal))
		return DCU_INVALID_DEVICE;
	return dcu_cuFuncSetAttribute(f, attribute, value);
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

int dcu_cuFuncGetParamInfo(struct func *f, size_t i, size_t *offset, size_t *bytes)
{
	if (!is_func(f))
		return DCU_INVALID_HANDLE;
	if (!offset || i >= dcu_func_n_args(f))
		return DCU_INVALID_VALUE;
	*offset = dcu_func_args[i].offset;
	if (bytes)
		*bytes = dcu_func_args[i].bytes;
	return 0;
}

int dcu_cuKernelGetParamInfo(struct func *f, size_t i, size_t *offset, size_t *bytes)
{
	return dcu_cuFuncGetParamInfo(f, i, offset, bytes);
}

/* --- How many blocks fit --- */

int dcu_cuOccupancyMaxActiveBlocksPerMultiprocessor(
	int *ret, struct func *f, int block, size_t shared_bytes)
{
	if (!is_func(f))
		return DCU_INVALID_HANDLE;
	if (!ret || block < 1 || block > 1024)
		return DCU_INVALID_VALUE;
	*ret = 2048 / block > 32 ? 32 : 2048 / block;
	return 0;
}

int dcu_cuOccupancyMaxActiveBlocksPerMultiprocessorWithFlags(
	int *ret, struct func *f, int block, size_t shared_bytes, unsigned flags)
{
	return dcu_cuOccupancyMaxActiveBlocksPerMultiprocessor(
		ret, f, block, shared_bytes);
}

int dcu_cuOccupancyMaxPotentialBlockSize(int *grid, int *block, struct func *f,
	smem_fn smem, size_t shared_bytes, int limit)
{
	struct ctx *ctx = dcu_current();

	if (!ctx)
		return DCU_INVALID_CONTEXT;
	if (!is_func(f))
		return DCU_INVALID_HANDLE;
	*block = limit > 0 && limit < 1024 ? limit : 1024;
	*grid = (int)ctx->device->info.units * (2048 / *block);
	return 0;
}

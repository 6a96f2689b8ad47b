/* SPDX-License-Identifier: Apache-2.0 */
#include "internal.h"
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

/* Modules and their functions: executables of HSA, and the stubs of compiled programs. */

#define IMAGE_MAX 65536

bool dhi_is_func(const struct func *f)
{
	return f && f->magic == IS_FUNC;
}

static bool is_module(const struct module *m)
{
	return m && m->magic == IS_MODULE;
}

static int load_code(struct module *m, const void *image)
{
	hsa_handle reader;
	int r = hsa_code_object_reader_create_from_memory(
		image, strnlen(image, IMAGE_MAX) + 1, &reader);

	if (r)
		return r;
	r = hsa_executable_create_alt(1, 0, NULL, &m->executable);
	if (!r)
		r = hsa_executable_load_agent_code_object(
			m->executable, m->device->agent, reader, NULL, NULL);
	if (!r)
		r = hsa_executable_freeze(m->executable, NULL);
	hsa_code_object_reader_destroy(reader);
	return r;
}

int dhi_module_load(struct device *device, const void *image, struct module **ret)
{
	struct module *m = calloc(1, sizeof(*m));
	int r;

	m->magic = IS_MODULE;
	m->device = device;
	pthread_mutex_init(&m->lock, NULL);
	r = load_code(m, image);
	if (r) {
		if (m->executable)
			hsa_executable_destroy(m->executable);
		free(m);
		return dhi_error_of(r);
	}
	*ret = m;
	return 0;
}

void dhi_module_free(struct module *m)
{
	hsa_executable_destroy(m->executable);
	for (struct func *f = m->funcs; f; f = f->next)
		f->magic = 0;
	m->magic = 0;
}

static struct func *find_func(const struct module *m, const char *name)
{
	struct func *f = m->funcs;

	while (f && strcmp(f->name, name) != 0)
		f = f->next;
	return f;
}

static int make_func(struct module *m, const char *name, struct func **ret)
{
	hsa_handle symbol;
	char with_suffix[64];
	struct func *f;
	int r;

	snprintf(with_suffix, sizeof(with_suffix), "%s.kd", name);
	r = hsa_executable_get_symbol_by_name(
		m->executable, with_suffix, &m->device->agent, &symbol);
	if (r)
		return dhi_error_of(r);
	f = calloc(1, sizeof(*f));
	f->magic = IS_FUNC;
	f->module = m;
	snprintf(f->name, sizeof(f->name), "%s", name);
	hsa_executable_symbol_get_info(symbol, HSA_SYMBOL_KERNEL_OBJECT, &f->object);
	hsa_executable_symbol_get_info(
		symbol, HSA_SYMBOL_KERNARG_BYTES, &f->kernarg_bytes);
	f->next = m->funcs;
	m->funcs = f;
	*ret = f;
	return 0;
}

int dhi_module_get(struct module *m, const char *name, struct func **ret)
{
	struct func *found;
	int r = 0;

	pthread_mutex_lock(&m->lock);
	found = find_func(m, name);
	if (!found)
		r = make_func(m, name, &found);
	pthread_mutex_unlock(&m->lock);
	if (!r)
		*ret = found;
	return r;
}

/* The runtime's own kernels. */
int dhi_builtin(struct device *device)
{
	static const char text[] = "cleave-double-module\n"
				   "kernel [fill] fill\n"
				   "kernel [copy] copy\n";
	static pthread_mutex_t once = PTHREAD_MUTEX_INITIALIZER;
	int r = 0;

	pthread_mutex_lock(&once);
	if (!device->builtin) {
		r = dhi_module_load(device, text, &device->builtin);
		r = r ? r : dhi_module_get(device->builtin, "[fill]", &device->fill);
		r = r ? r : dhi_module_get(device->builtin, "[copy]", &device->copy);
	}
	pthread_mutex_unlock(&once);
	return r;
}

/* --- By handle --- */

int dhi_hipModuleLoadData(struct module **ret, const void *image)
{
	if (!ret || !image)
		return HIP_INVALID_VALUE;
	return dhi_module_load(dhi_current(), image, ret);
}

int dhi_hipModuleUnload(struct module *m)
{
	if (!is_module(m))
		return HIP_INVALID_HANDLE;
	dhi_device_await(m->device);
	dhi_module_free(m);
	return 0;
}

int dhi_hipModuleGetFunction(struct func **ret, struct module *m, const char *name)
{
	if (!ret || !name)
		return HIP_INVALID_VALUE;
	return is_module(m) ? dhi_module_get(m, name, ret) : HIP_INVALID_HANDLE;
}

/* --- By the address of a stub --- */

struct program {
	const struct fat_binary *wrapper;
	struct module *modules[16]; /* for each device, created at its first use */
};

static struct stub {
	const void *host;
	char name[48];
	struct program *program;
	struct func *funcs[16];
	struct stub *next;
} * stubs;

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

void **__hipRegisterFatBinary(const void *binary)
{
	const struct fat_binary *wrapper = binary;
	struct program *program;

	if (!wrapper || wrapper->magic != HIP_FAT_MAGIC || wrapper->version != 1)
		return NULL;
	program = calloc(1, sizeof(*program));
	program->wrapper = wrapper;
	return (void **)program;
}

void __hipRegisterFunction(void **modules, const void *host, char *device_name,
	const char *name, unsigned limit, void *tid, void *bid, void *block, void *grid,
	int *warp)
{
	struct stub *stub = calloc(1, sizeof(*stub));

	stub->host = host;
	stub->program = (struct program *)modules;
	snprintf(stub->name, sizeof(stub->name), "%s", name);
	pthread_mutex_lock(&lock);
	stub->next = stubs;
	stubs = stub;
	pthread_mutex_unlock(&lock);
}

static void forget_stubs(const struct program *program)
{
	for (struct stub **at = &stubs; *at;) {
		struct stub *stub = *at;

		if (stub->program != program) {
			at = &stub->next;
			continue;
		}
		*at = stub->next;
		free(stub);
	}
}

void __hipUnregisterFatBinary(void **modules)
{
	struct program *program = (struct program *)modules;

	if (!program)
		return;
	pthread_mutex_lock(&lock);
	forget_stubs(program);
	pthread_mutex_unlock(&lock);
	for (int i = 0; i < 16; i++)
		if (program->modules[i])
			dhi_module_free(program->modules[i]);
	free(program);
}

static struct func *load_stub(struct stub *stub, struct device *device)
{
	struct program *program = stub->program;
	int i = device->ordinal;

	if (!program->modules[i] &&
		dhi_module_load(device, program->wrapper->binary, &program->modules[i]))
		return NULL;
	if (!stub->funcs[i])
		dhi_module_get(program->modules[i], stub->name, &stub->funcs[i]);
	return stub->funcs[i];
}

struct func *dhi_func_of(const void *host, struct device *device)
{
	struct func *found = NULL;
	struct stub *stub;

	pthread_mutex_lock(&lock);
	for (stub = stubs; stub && stub->host != host; stub = stub->next)
		;
	if (stub)
		found = load_stub(stub, device);
	pthread_mutex_unlock(&lock);
	return found;
}

const char *hipKernelNameRefByPtr(const void *host, struct stream *stream)
{
	const struct func *f = dhi_func_of(host, dhi_current());

	return f ? f->name : NULL;
}

/* --- Properties of a function --- */

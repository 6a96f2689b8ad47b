/* SPDX-License-Identifier: Apache-2.0 */
/* cuInit, where a process becomes one of a lease's or sees no device; and the ends of
 * contexts, with which goes what was made in them. */
#include "gate/charges.h"
#include "gate/cuda/library.h"
#include "gate/cuda/stream.h"
#include "gate/gate.h"
#include "gate/preload/elf.h"

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define VISIBLE "CUDA_VISIBLE_DEVICES"

#define DEVICES_MAX 64

/* UUIDs, a comma after each but the last, are told apart by where they begin. */
struct devices {
	const char *items[DEVICES_MAX];
	bool is_shown[DEVICES_MAX];
	uint32_t n;
};

static size_t item_length(const char *item)
{
	return strcspn(item, ",");
}

static struct devices read_devices(const struct clv_view *view)
{
	const char *rest = view->devices[0] ? view->devices : view->model;
	struct devices devices = {.n = 0};

	while (*rest && devices.n < DEVICES_MAX) {
		devices.items[devices.n++] = rest;
		rest += item_length(rest);
		rest += *rest == ',';
	}
	return devices;
}

/* A number as the driver writes it, that it has in the lease. */
static uint32_t find_by_number(const struct devices *devices, const char *entry, size_t n)
{
	char digits[4];

	for (uint32_t i = 0; i < devices->n; i++) {
		snprintf(digits, sizeof(digits), "%u", i);
		if (strlen(digits) == n && strncmp(digits, entry, n) == 0)
			return i;
	}
	return DEVICES_MAX;
}

/* One entry of the list: a device of the lease by its UUID or the beginning of it, or by
 * its number. */
static uint32_t find_device(const struct devices *devices, const char *entry, size_t n)
{
	for (uint32_t i = 0; i < devices->n; i++) {
		if (n > 4 && n <= item_length(devices->items[i]) &&
			strncasecmp(entry, devices->items[i], n) == 0)
			return i;
	}
	return find_by_number(devices, entry, n);
}

/* The rest of one that does not name a device of the lease, or names one again, shows
 * nothing, as with the driver itself. */
static void choose_devices(struct devices *devices, const char *said, char *ret_list)
{
	while (*said) {
		size_t n = item_length(said);
		uint32_t i = find_device(devices, said, n);

		if (i == DEVICES_MAX || devices->is_shown[i])
			break;
		devices->is_shown[i] = true;
		if (*ret_list)
			strcat(ret_list, ",");
		strncat(ret_list, devices->items[i], item_length(devices->items[i]));
		said += n;
		said += *said == ',';
	}
}

/* A program may have a setenv of its own, which every library in it calls. */
static void set_visible(const char *list)
{
	int (*libcs)(const char *, const char *, int) = (int (*)(const char *,
		const char *, int))(uintptr_t)clv_elf_find_in_libc("setenv");

	(libcs ? libcs : setenv)(VISIBLE, list, 1);
}

/* The driver reads the list in cuInit.  What a program says of itself can only hide the
 * lease's devices, never show another; that holds in a child too that lost the list. */
static void show_devices(const struct clv_view *view)
{
	struct devices devices = read_devices(view);
	const char *said = getenv(VISIBLE);
	char list[sizeof(view->devices)] = "";

	if (devices.n == 0)
		return;
	choose_devices(&devices, said ? said : devices.items[0], list);
	if (!said || strcmp(said, list) != 0)
		set_visible(list);
}

int clv_own_cuInit(clv_fn_cuInit *real, uint32_t flags)
{
	bool is_refused;
	const struct clv_view *view = clv_gate_view(&is_refused);

	if (is_refused)
		return CLV_CUDA_NO_DEVICE;
	if (view)
		show_devices(view);
	return real(flags);
}

/* Contexts. */

static void forget_context(const void *context)
{
	clv_cuda_streams_forget(context);
	clv_charges_drop(context);
}

static int end_context(int (*destroy)(void *context), void *context)
{
	int r;

	if (!context)
		return destroy(context);
	clv_cuda_streams_drain(context);
	clv_cuda_forget_context();
	r = destroy(context);
	if (r == CLV_CUDA_SUCCESS)
		forget_context(context);
	return r;
}

int clv_own_cuCtxDestroy(clv_fn_cuCtxDestroy *real, void *context)
{
	return end_context(real, context);
}

int clv_own_cuCtxDestroy_v2(clv_fn_cuCtxDestroy_v2 *real, void *context)
{
	return end_context(real, context);
}

/* The primary context has the same handle for as long as anybody retains it. */
static void *primary_context(int device)
{
	void *context = NULL;

	if (clv_cuda.cuDevicePrimaryCtxRetain(&context, device) != CLV_CUDA_SUCCESS)
		return NULL;
	clv_cuda.cuDevicePrimaryCtxRelease_v2(device);
	return context;
}

static bool is_primary_active(int device)
{
	uint32_t flags;
	int is_active = 0;

	return clv_cuda.cuDevicePrimaryCtxGetState(device, &flags, &is_active) ==
		       CLV_CUDA_SUCCESS &&
	       is_active;
}

static int end_primary(int (*end)(int device), int device)
{
	void *context = is_primary_active(device) ? primary_context(device) : NULL;
	int r;

	if (context)
		clv_cuda_streams_drain(context);
	r = end(device);
	if (context && r == CLV_CUDA_SUCCESS && !is_primary_active(device))
		forget_context(context);
	return r;
}

/* How often the program has it, by device.  More devices than that are not counted. */
#define MAX_COUNTED 64

static _Atomic int32_t n_retained[MAX_COUNTED];

int clv_own_cuDevicePrimaryCtxRetain(
	clv_fn_cuDevicePrimaryCtxRetain *real, void *pctx, int device)
{
	int r = real(pctx, device);

	if (r == CLV_CUDA_SUCCESS && device >= 0 && device < MAX_COUNTED)
		atomic_fetch_add(&n_retained[device], 1);
	return r;
}

/* A release that is not the last leaves the context, and its work, as it is: libraries
 * retain and release it beside whoever computes.  Of several at once the count makes one
 * the last. */
static int release_primary(int (*release)(int device), int device)
{
	bool is_counted = device >= 0 && device < MAX_COUNTED;
	int32_t n = is_counted ? atomic_fetch_sub(&n_retained[device], 1) : 0;
	int r = n > 1 ? release(device) : end_primary(release, device);

	if (is_counted && (r != CLV_CUDA_SUCCESS || n <= 0))
		atomic_fetch_add(&n_retained[device], 1);
	return r;
}

/* Whoever retained it has nothing any more. */
static int reset_primary(int (*reset)(int device), int device)
{
	int r = end_primary(reset, device);

	if (device >= 0 && device < MAX_COUNTED && !is_primary_active(device))
		atomic_store(&n_retained[device], 0);
	return r;
}

int clv_own_cuDevicePrimaryCtxReset(clv_fn_cuDevicePrimaryCtxReset *real, int device)
{
	return reset_primary(real, device);
}

int clv_own_cuDevicePrimaryCtxReset_v2(
	clv_fn_cuDevicePrimaryCtxReset_v2 *real, int device)
{
	return reset_primary(real, device);
}

int clv_own_cuDevicePrimaryCtxRelease(clv_fn_cuDevicePrimaryCtxRelease *real, int device)
{
	return release_primary(real, device);
}

int clv_own_cuDevicePrimaryCtxRelease_v2(
	clv_fn_cuDevicePrimaryCtxRelease_v2 *real, int device)
{
	return release_primary(real, device);
}

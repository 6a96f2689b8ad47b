/* SPDX-License-Identifier: Apache-2.0 */
/* cuInit, where a process becomes one of a lease's or sees no device; and the ends of
 * contexts, with which goes what was made in them. */
#include "gate/charges.h"
#include "gate/cuda/library.h"
#include "gate/cuda/stream.h"
#include "gate/gate.h"

#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define VISIBLE "CUDA_VISIBLE_DEVICES"

/* One entry of the list: the lease's device by its UUID or the beginning of it, or by the
 * number that it has in the lease. */
static bool names_device(const char *entry, size_t n, const char *uuid)
{
	return (n == 1 && entry[0] == '0') || (n > 4 && strncasecmp(entry, uuid, n) == 0);
}

/* The driver reads the list in cuInit.  What a program says of itself can only hide the
 * lease's device, never show another; that holds in a child too that lost the list. */
static void show_device(const struct clv_view *view)
{
	const char *uuid = view->model, *said = getenv(VISIBLE);

	if (uuid[0] == '\0' || (said && strcmp(said, uuid) == 0))
		return;
	if (said && !names_device(said, strcspn(said, ","), uuid))
		uuid = "";
	setenv(VISIBLE, uuid, 1);
}

int clv_own_cuInit(clv_fn_cuInit *real, uint32_t flags)
{
	bool is_refused;
	const struct clv_view *view = clv_gate_view(&is_refused);

	if (is_refused)
		return CLV_CUDA_NO_DEVICE;
	if (view)
		show_device(view);
	return real(flags);
}

/* Contexts. */

static int end_context(int (*destroy)(void *context), void *context)
{
	int r;

	clv_cuda_streams_drain(context);
	r = destroy(context);
	if (r == CLV_CUDA_SUCCESS)
		clv_charges_drop(context);
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

/* A release that is not the last leaves the context as it is. */
static int end_primary(int (*end)(int device), int device)
{
	void *context = is_primary_active(device) ? primary_context(device) : NULL;
	int r;

	if (context)
		clv_cuda_streams_drain(context);
	r = end(device);
	if (context && r == CLV_CUDA_SUCCESS && !is_primary_active(device))
		clv_charges_drop(context);
	return r;
}

int clv_own_cuDevicePrimaryCtxReset(clv_fn_cuDevicePrimaryCtxReset *real, int device)
{
	return end_primary(real, device);
}

int clv_own_cuDevicePrimaryCtxReset_v2(
	clv_fn_cuDevicePrimaryCtxReset_v2 *real, int device)
{
	return end_primary(real, device);
}

int clv_own_cuDevicePrimaryCtxRelease(clv_fn_cuDevicePrimaryCtxRelease *real, int device)
{
	return end_primary(real, device);
}

int clv_own_cuDevicePrimaryCtxRelease_v2(
	clv_fn_cuDevicePrimaryCtxRelease_v2 *real, int device)
{
	return end_primary(real, device);
}

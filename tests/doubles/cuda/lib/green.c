/* SPDX-License-Identifier: Apache-2.0 */
#include "functions.h"
#include "objects.h"
#include <stdlib.h>
#include <string.h>

/* Green contexts: some of the multiprocessors. Each is a context with its own channel
 * group here, and its kernels take longer in inverse proportion to its part; the machine
 * still runs one group at a time. It keeps the device's primary context, which has its
 * memory and events; a wait for that one is a wait for all of these. */

#define SPLIT 8U /* multiprocessors are allotted in multiples of this */

struct green {
	uint32_t magic;
	struct ctx *ctx;
	struct resource resource;
	struct green *next;
};

static struct green *all;
static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

struct desc {
	uint32_t magic;
	struct resource resource;
};

static bool is_green(const struct green *g)
{
	return g && g->magic == DCU_IS_GREEN;
}

static struct resource of_sms(uint32_t sms)
{
	struct resource r = {.type = 1};

	r.sms = sms;
	return r;
}

int dcu_cuDeviceGetDevResource(int ordinal, struct resource *ret, int type)
{
	if (!dcu_device_at(ordinal))
		return DCU_INVALID_DEVICE;
	if (!ret || type != 1)
		return DCU_INVALID_VALUE;
	*ret = of_sms(dcu_device_at(ordinal)->info.units);
	return 0;
}

int dcu_cuCtxGetDevResource(struct ctx *ctx, struct resource *ret, int type)
{
	if (!ctx || ctx->magic != DCU_IS_CTX)
		return DCU_INVALID_CONTEXT;
	if (!ret || type != 1)
		return DCU_INVALID_VALUE;
	*ret = of_sms(ctx->units);
	return 0;
}

int dcu_cuDevSmResourceSplitByCount(struct resource *ret, unsigned *n,
	const struct resource *from, struct resource *rest, unsigned flags,
	unsigned least)
{
	uint32_t each = (least + SPLIT - 1) / SPLIT * SPLIT, most;

	if (!n || !from || from->type != 1)
		return DCU_INVALID_VALUE;
	each = each ? each : SPLIT;
	most = from->sms / each;
	if (!ret || *n > most)
		*n = most;
	for (unsigned i = 0; ret && i < *n; i++)
		ret[i] = of_sms(each);
	if (ret && rest)
		*rest = of_sms(from->sms - *n * each);
	return 0;
}

int dcu_cuDevResourceGenerateDesc(
	struct desc **ret, struct resource *resources, unsigned n)
{
	uint32_t sms = 0;

	if (!ret || !resources || !n)
		return DCU_INVALID_VALUE;
	for (unsigned i = 0; i < n; i++) {
		if (resources[i].type != 1)
			return DCU_INVALID_VALUE;
		sms += resources[i].sms;
	}
	*ret = calloc(1, sizeof(**ret));
	(*ret)->magic = DCU_IS_DESC;
	(*ret)->resource = of_sms(sms);
	return 0;
}

static void add(struct green *g)
{
	pthread_mutex_lock(&lock);
	g->next = all;
	all = g;
	pthread_mutex_unlock(&lock);
}

static void take_out(const struct green *g)
{
	struct green **at = &all;

	pthread_mutex_lock(&lock);
	while (*at && *at != g)
		at = &(*at)->next;
	if (*at)
		*at = g->next;
	pthread_mutex_unlock(&lock);
}

int dcu_green_await(const struct device *device)
{
	int r = 0;

	pthread_mutex_lock(&lock);
	for (struct green *g = all; g && !r; g = g->next)
		if (g->ctx->device == device)
			r = dcu_ctx_await(g->ctx);
	pthread_mutex_unlock(&lock);
	return r;
}

size_t dcu_green_tails(const struct device *device, struct place ret[DGP_SLOTS], size_t n)
{
	pthread_mutex_lock(&lock);
	for (struct green *g = all; g; g = g->next)
		if (g->ctx->device == device)
			n = dcu_ctx_tails(g->ctx, ret, n);
	pthread_mutex_unlock(&lock);
	return n;
}

int dcu_cuGreenCtxCreate(
	struct green **ret, struct desc *desc, int ordinal, unsigned flags)
{
	struct device *device = dcu_device_at(ordinal);
	struct ctx *primary = NULL;
	struct green *g;
	int r;

	if (!device)
		return DCU_INVALID_DEVICE;
	if (!ret || !desc || desc->magic != DCU_IS_DESC || flags != 1)
		return DCU_INVALID_VALUE;
	g = calloc(1, sizeof(*g));
	g->magic = DCU_IS_GREEN;
	g->resource = desc->resource;
	r = dcu_primary(device, &primary);
	if (!r)
		r = dcu_ctx_new(device, desc->resource.sms, &g->ctx);
	if (r) {
		if (primary)
			dcu_cuDevicePrimaryCtxRelease_v2(ordinal);
		free(g);
		return r;
	}
	g->ctx->primary = primary;
	g->ctx->legacy.green = g;
	add(g);
	*ret = g;
	return 0;
}

int dcu_cuGreenCtxDestroy(struct green *g)
{
	if (!is_green(g))
		return DCU_INVALID_CONTEXT;
	take_out(g);
	g->magic = DCU_DEAD;
	dcu_ctx_end(g->ctx);
	dcu_cuDevicePrimaryCtxRelease_v2((int)(g->ctx->device - dcu_devices));
	return 0;
}

int dcu_cuCtxFromGreenCtx(struct ctx **ret, struct green *g)
{
	if (!is_green(g))
		return DCU_INVALID_CONTEXT;
	if (!ret)
		return DCU_INVALID_VALUE;
	*ret = g->ctx;
	return 0;
}

int dcu_cuGreenCtxStreamCreate(
	struct stream **ret, struct green *g, unsigned flags, int priority)
{
	if (!is_green(g))
		return DCU_INVALID_CONTEXT;
	if (!ret || flags != DCU_STREAM_NON_BLOCKING)
		return DCU_INVALID_VALUE;
	return dcu_stream_open(g->ctx, flags, priority, ret);
}

int dcu_cuStreamGetGreenCtx(struct stream *handle, struct green **ret)
{
	int r;
	struct stream *s = dcu_stream(handle, &r);

	if (s)
		*ret = s->green;
	return r;
}

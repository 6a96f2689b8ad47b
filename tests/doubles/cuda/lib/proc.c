/* SPDX-License-Identifier: Apache-2.0 */
#include "exports.h"
#include "objects.h"
#include <string.h>

/* Which function a name means for a program built for some version of CUDA: the latest
 * that this version had. A name with a suffix is not found. */

/* A private table, as runtimes use them, with one entry that launches: a preloaded
 * library does not see that call. */
static const struct uuid private_table_id = {{0xc1, 0xea, 0x7e, 0xd0, 0x0b, 0x1e, 0x4a,
	0x11, 0x9c, 0x0d, 0xca, 0xfe, 0xba, 0xbe, 0x00, 0x01}};
static const struct {
	size_t bytes;
	int (*launch)(struct func *func, unsigned gx, unsigned gy, unsigned gz,
		unsigned bx, unsigned by, unsigned bz, unsigned shared_bytes,
		struct stream *stream, void **params, void **extra);
} private_table = {sizeof(private_table), dcu_cuLaunchKernel};

int dcu_cuGetExportTable(const void **ret, const struct uuid *id)
{
	if (!ret || !id)
		return DCU_INVALID_VALUE;
	*ret = NULL;
	if (memcmp(id, &private_table_id, sizeof(*id)) != 0)
		return DCU_NOT_FOUND;
	*ret = &private_table;
	return 0;
}

static const struct dcu_export *best_of(const char *base, int version, int *ret_status)
{
	const struct dcu_export *best = NULL;

	*ret_status = DCU_PROC_NO_SYMBOL;
	for (size_t i = 0; i < dcu_n_exports; i++) {
		const struct dcu_export *e = &dcu_exports[i];

		if (strcmp(e->base, base) != 0)
			continue;
		if (*ret_status == DCU_PROC_NO_SYMBOL)
			*ret_status = DCU_PROC_NO_VERSION;
		if (e->version > version || (best && e->version <= best->version))
			continue;
		best = e;
		*ret_status = DCU_PROC_FOUND;
	}
	return best;
}

static int look_up(
	const char *symbol, void **ret, int version, uint64_t flags, int *ret_status)
{
	const struct dcu_export *e;
	bool is_inner = dgp_hello.inner_addresses;
	int status;

	/* Driver 580 refuses versions of CUDA that are newer than it is. */
	if (!symbol || !ret || flags > 2 || version < 0 || version > (int)dcu_version)
		return DCU_INVALID_VALUE;
	e = best_of(symbol, version, &status);
	*ret = NULL;
	if (e)
		*ret = flags == DCU_PROC_PER_THREAD && e->of_thread[0]
			       ? e->of_thread[is_inner]
			       : e->function[is_inner];
	if (ret_status)
		*ret_status = status;
	return 0;
}

int dcu_cuGetProcAddress_v2(
	const char *symbol, void **ret, int version, uint64_t flags, int *ret_status)
{
	return look_up(symbol, ret, version, flags, ret_status);
}

/* This form has no status, so the result reports a missing function. */
int dcu_cuGetProcAddress(const char *symbol, void **ret, int version, uint64_t flags)
{
	int status, r = look_up(symbol, ret, version, flags, &status);

	return r || status == DCU_PROC_FOUND ? r : DCU_NOT_FOUND;
}

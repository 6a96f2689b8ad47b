/* SPDX-License-Identifier: Apache-2.0 */
/* The backend's vtable; opens and closes the backend. */
#include "backend/opencl/cores.h"
#include "backend/opencl/library.h"
#include "base/error.h"

#include <errno.h>
#include <stdlib.h>

static int opencl_probe(struct clv_backend **ret, struct clv_error *err)
{
	struct clv_opencl_backend *backend = calloc(1, sizeof(*backend));
	int r;

	if (!backend)
		return clv_error_errno(err, ENOMEM, "cannot open OpenCL");
	r = clv_opencl_library_open(&backend->library, err);
	if (r < 0) {
		free(backend);
		return r;
	}
	backend->base.ops = &clv_backend_opencl;
	*ret = &backend->base;
	return 0;
}

static void opencl_free(struct clv_backend *base)
{
	struct clv_opencl_backend *backend = (struct clv_opencl_backend *)base;

	if (!backend)
		return;
	clv_opencl_library_close(&backend->library);
	free(backend);
}

const struct clv_backend_ops clv_backend_opencl = {
	.abi = CLV_BACKEND_ABI,
	.name = "opencl",
	.probe = opencl_probe,
	.enumerate = clv_opencl_enumerate,
	.survey = clv_opencl_survey,
	.read = clv_opencl_read,
	.create = clv_opencl_create,
	.destroy = clv_opencl_destroy,
	.free = opencl_free,
};

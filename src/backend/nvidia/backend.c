/* SPDX-License-Identifier: Apache-2.0 */
/* The backend's vtable; opens and closes the backend. */
#include "backend/nvidia/change.h"
#include "backend/nvidia/handles.h"
#include "backend/nvidia/sample.h"
#include "backend/nvidia/survey.h"
#include "base/error.h"

#include <errno.h>
#include <stdlib.h>

static int nvidia_probe(struct clv_backend **ret, struct clv_error *err)
{
	struct clv_nvidia_backend *backend = calloc(1, sizeof(*backend));
	int r;

	if (!backend)
		return clv_error_errno(err, ENOMEM, "cannot open NVML");
	r = clv_nvidia_library_open(&backend->nvml, err);
	if (r == 0)
		r = clv_nvidia_handles_start(backend, err);
	if (r < 0) {
		clv_nvidia_library_close(&backend->nvml);
		free(backend);
		return r;
	}
	backend->base.ops = &clv_backend_nvidia;
	*ret = &backend->base;
	return 0;
}

static int nvidia_close(
	struct clv_backend *base, const struct clv_closed *closed, struct clv_error *err)
{
	struct clv_nvidia_backend *backend = (struct clv_nvidia_backend *)base;

	backend->closed = *closed;
	clv_nvidia_handles_stop(backend);
	return clv_nvidia_handles_check_others(backend, err);
}

static void nvidia_free(struct clv_backend *base)
{
	struct clv_nvidia_backend *backend = (struct clv_nvidia_backend *)base;

	if (!backend)
		return;
	clv_nvidia_handles_stop(backend);
	clv_nvidia_library_close(&backend->nvml);
	free(backend->gpus);
	free(backend);
}

const struct clv_backend_ops clv_backend_nvidia = {
	.abi = CLV_BACKEND_ABI,
	.name = "nvidia",
	.probe = nvidia_probe,
	.free = nvidia_free,
	.survey = clv_nvidia_survey,
	.close = nvidia_close,
	.read = clv_nvidia_read,
	.sample = clv_nvidia_sample,
	.limit_memory = clv_nvidia_limit_memory,
	.set_mig_mode = clv_nvidia_set_mig_mode,
	.create = clv_nvidia_create,
	.destroy = clv_nvidia_destroy,
};

/* SPDX-License-Identifier: Apache-2.0 */
#include "gate/opencl/device/identity.h"

#include "base/uuid.h"
#include "gate/opencl/dispatch/real.h"

#include <CL/cl_ext.h>
#include <string.h>

/* The UUID of the lease's device where the driver gave it, and the agent did not make
 * it.  Names of other kinds are those of other drivers. */
static bool get_wanted(const struct clv_view *view, char ret[CLV_UUID_LENGTH + 1])
{
	size_t n = strcspn(view->devices, ",");
	char made[CLV_UUID_LENGTH + 1];

	if (n != CLV_UUID_LENGTH)
		return false;
	memcpy(ret, view->devices, n);
	ret[n] = '\0';
	clv_uuid_make(view->platform, view->model, view->ordinal, made);
	return strcmp(ret, made) != 0;
}

/* False: a processor, or the driver has none. */
static bool get_uuid(cl_device_id device, char ret[CLV_UUID_LENGTH + 1])
{
	static const unsigned char none[CL_UUID_SIZE_KHR];
	unsigned char id[CL_UUID_SIZE_KHR] = {0};
	cl_device_type type = 0;

	clv_real.clGetDeviceInfo(device, CL_DEVICE_TYPE, sizeof(type), &type, NULL);
	if (type & CL_DEVICE_TYPE_CPU ||
		clv_real.clGetDeviceInfo(
			device, CL_DEVICE_UUID_KHR, sizeof(id), id, NULL) != CL_SUCCESS ||
		memcmp(id, none, sizeof(id)) == 0)
		return false;
	clv_uuid_format(id, ret);
	return true;
}

bool clv_identify_device(const struct clv_view *view, const cl_device_id *all, cl_uint n,
	cl_device_id *ret)
{
	char wanted[CLV_UUID_LENGTH + 1], uuid[CLV_UUID_LENGTH + 1];
	bool have_uuids = false;

	if (get_wanted(view, wanted)) {
		for (cl_uint i = 0; i < n; i++) {
			if (!all[i] || !get_uuid(all[i], uuid))
				continue;
			have_uuids = true;
			if (strcmp(uuid, wanted) == 0) {
				*ret = all[i];
				return true;
			}
		}
	}
	/* NULL: the driver has reported more devices than it has written. */
	if (have_uuids || view->ordinal >= n || !all[view->ordinal])
		return false;
	*ret = all[view->ordinal];
	return true;
}

/* SPDX-License-Identifier: Apache-2.0 */
#include "bridge/services/project/lease-request.h"

static const char *if_given(const char *text)
{
	return text[0] ? text : NULL;
}

struct clv_client_lease_request clv_services_lease_request(
	const struct clv_service *service)
{
	const struct clv_service_device *device = &service->device;

	return (struct clv_client_lease_request){
		.device = if_given(device->device),
		.profile = if_given(device->profile),
		.isolation = if_given(device->isolation),
		.class_name = if_given(device->class_name),
		.share_ppm = device->share_ppm,
		.share_most_ppm = device->share_most_ppm,
		.memory_bytes = device->memory_bytes,
		.keep = true,
		.admit = "socket",
	};
}

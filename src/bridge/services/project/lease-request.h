/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "service/service.h"

#include <cleave.h>

/* The compute of a lease whose replica sleeps frozen: the least that a lease can have. */
#define CLV_LEASE_REST_PPM 1u

/* The lease of a replica of the service; name and command are the caller's.  Texts are
 * borrowed from the service. */
struct clv_client_lease_request clv_services_lease_request(
	const struct clv_service *service);

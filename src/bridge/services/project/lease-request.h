/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "service/service.h"

#include <cleave.h>

/* The lease of a replica of the service; name and command are the caller's.  Texts are
 * borrowed from the service. */
struct clv_client_lease_request clv_services_lease_request(
	const struct clv_service *service);

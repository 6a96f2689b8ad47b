/* SPDX-License-Identifier: Apache-2.0 */
/* Validates a gate's hello.  No I/O: a tenant's bytes are checked here and nowhere else,
 * so this is what is fuzzed. */
#include "agent/attach/hello.h"

#include "arbiter/attach.h"
#include "arbiter/page.h"
#include "base/error.h"

#include <errno.h>
#include <string.h>

int clv_attach_hello_check(const void *data, size_t n_bytes, struct clv_error *err)
{
	struct clv_attach_hello hello;

	/* Later versions may have another length; magic and version stay at the front. */
	if (n_bytes < 2 * sizeof(uint32_t))
		return clv_error_set(err, -EPROTO,
			"a hello of %zu bytes is no hello of a cleave gate", n_bytes);
	memset(&hello, 0, sizeof(hello));
	memcpy(&hello, data, n_bytes < sizeof(hello) ? n_bytes : sizeof(hello));
	if (hello.magic != CLV_ATTACH_MAGIC)
		return clv_error_set(
			err, -EPROTO, "the message is no hello of a cleave gate");
	if (hello.version != CLV_ATTACH_VERSION)
		return clv_error_set(err, -EPROTONOSUPPORT,
			"the gate speaks attach version %u and the agent (cleave %s) "
			"version %u: run the program with the gate of the agent's own "
			"version",
			hello.version, CLV_VERSION, CLV_ATTACH_VERSION);
	if (n_bytes != sizeof(hello))
		return clv_error_set(err, -EPROTO, "a hello of %zu bytes should have %zu",
			n_bytes, sizeof(hello));
	if (hello.page_version != CLV_PAGE_VERSION)
		return clv_error_set(err, -EPROTONOSUPPORT,
			"the gate speaks lease page version %u and the agent (cleave %s) "
			"version %u: run the program with the gate of the agent's own "
			"version",
			hello.page_version, CLV_VERSION, CLV_PAGE_VERSION);
	if (hello.api < CLV_ATTACH_API_OPENCL || hello.api > CLV_ATTACH_API_HIP)
		return clv_error_set(err, -EPROTONOSUPPORT,
			"the gate is for an API (number %u) that the agent (cleave %s) "
			"does not know: update the agent",
			hello.api, CLV_VERSION);
	return 0;
}

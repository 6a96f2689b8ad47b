/* SPDX-License-Identifier: Apache-2.0 */
/* The hello of a gate, as the agent gets it. */
#include "fuzz.h"

#include "agent/attach/hello.h"
#include "arbiter/attach.h"
#include "arbiter/page.h"
#include "base/error.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
	struct clv_attach_hello hello;
	struct clv_error err = {0};
	int r = clv_attach_hello_check(data, n_bytes, &err);

	if (r < 0) {
		CLV_MUST(err.code == r);
		CLV_MUST(err.msg[0] != '\0' && !strchr(err.msg, '\n'));
		CLV_MUST(clv_attach_hello_check(data, n_bytes, NULL) == r);
		return 0;
	}
	CLV_MUST(n_bytes == sizeof(hello));
	memcpy(&hello, data, sizeof(hello));
	CLV_MUST(hello.magic == CLV_ATTACH_MAGIC && hello.version == CLV_ATTACH_VERSION);
	CLV_MUST(hello.page_version == CLV_PAGE_VERSION);
	CLV_MUST(err.code == 0);
	return 0;
}

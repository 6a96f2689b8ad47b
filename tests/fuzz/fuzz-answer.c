/* SPDX-License-Identifier: Apache-2.0 */
/* The head of the agent's HTTP answer, as libcleave reads it. */
#include "fuzz.h"

#include "client/http-head.h"

#include <errno.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
	struct clv_http_head head = {.status = -1}, again;
	/* A copy without a NUL, so that sanitizers see a read past the end. */
	char *bytes = malloc(n_bytes + 1);
	int r;

	CLV_MUST(bytes);
	memcpy(bytes, data, n_bytes);
	bytes = realloc(bytes, n_bytes ? n_bytes : 1);
	r = clv_http_head_read(bytes, n_bytes, &head);
	CLV_MUST(r == 1 || r == 0 || r == -EBADMSG);
	CLV_MUST(r != 0 || n_bytes < CLV_HTTP_HEAD_MAX_BYTES);
	if (r == 1) {
		CLV_MUST(head.n_bytes >= 4 && head.n_bytes <= n_bytes);
		CLV_MUST(memcmp(bytes + head.n_bytes - 4, "\r\n\r\n", 4) == 0);
		CLV_MUST(head.status >= 200 && head.status <= 599);
		/* What follows the head changes nothing. */
		CLV_MUST(clv_http_head_read(bytes, head.n_bytes, &again) == 1);
		CLV_MUST(again.body_bytes == head.body_bytes);
	} else {
		CLV_MUST(head.status == -1);
	}
	free(bytes);
	return 0;
}

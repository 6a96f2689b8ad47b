/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/* A request with an Idempotency-Key, and the object that it created. */
struct clv_key_record {
	char subject[80]; /* the caller's namespace: keys of other callers differ */
	char key[72];     /* as the caller sent it; "": none was sent */
	char request[72]; /* the action, and a digest of query and body */
	char object[24];  /* id of the created object; "": none yet */
	uint64_t time_real_ns;
};

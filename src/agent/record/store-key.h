/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdint.h>

/* A request that came with a key of its caller's, and what it made. */
struct clv_key_record {
	char subject[80]; /* whose key it is */
	char key[72];     /* as it came; "": there is none */
	char request[72]; /* what was asked, and a digest of it */
	char object[24];  /* the id of what was made; "": nothing yet */
	uint64_t time_real_ns;
};

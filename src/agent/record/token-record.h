/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "agent/record/scope.h"

#include <stdint.h>

#define CLV_TOKEN_ID_MAX 16u
#define CLV_TOKEN_HASH_BYTES 32u

struct clv_token_record {
	char id[CLV_TOKEN_ID_MAX];
	char name[64];
	char tenant[64]; /* whose token it is, with scope tenant; else "" */
	enum clv_scope scope;
	uint8_t hash[CLV_TOKEN_HASH_BYTES];        /* SHA-256 of the secret */
	uint64_t created_real_ns, expires_real_ns; /* 0: never */
	uint64_t last_used_real_ns;                /* not stored */
};

/* A request for a token. */
struct clv_token_request {
	char name[64];
	enum clv_scope scope;
	char tenant[64];       /* whose token it is, with scope tenant; else "" */
	uint64_t expires_in_s; /* 0: never */
};

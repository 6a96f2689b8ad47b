/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/cleanup.h"
#include "client/url.h"

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clv_client;
struct clv_client_error;

/* One request of libcleave and its answer: what every call is made of. */
struct clv_call {
	const char *method;
	struct clv_url url;
	const json_t *body; /* sent as JSON; NULL: text */
	const char *text;   /* sent as YAML; NULL: no body at all */
	size_t n_bytes;
	uint32_t timeout_ms; /* for any answer; 0: as long as the agent may take */
	uint32_t wait_ms;    /* longer than any answer takes may this one */
	bool only_here;      /* it means nothing to the agent's successor */
};

/* How long drivers may take to say what devices there are, and how they are divided. */
#define CLV_CALL_PROBE_MS 10000u
#define CLV_CALL_SURVEY_MS 60000u

/* ret may be NULL.  A request that was never sent, because the agent had left when it was
 * idle, is sent to its successor. */
int clv_call(struct clv_client *client, const struct clv_call *call, json_t **ret,
	struct clv_client_error *err);

/* A GET of a fixed path. */
int clv_call_get(struct clv_client *client, const char *path, uint32_t wait_ms,
	json_t **ret, struct clv_client_error *err);

static inline void clv_call_decref(json_t *value)
{
	json_decref(value);
}
CLV_DEFINE_CLEANUP(json_t *, clv_call_decref)
#define _cleanup_json_ CLV_CLEANUP(clv_call_decrefp)

/* Members of a request's body; what is not said is left out. */
void clv_call_set_text(json_t *object, const char *key, const char *text);
void clv_call_set_fraction(json_t *object, const char *key, uint32_t ppm);
/* With most_ppm: a range. */
void clv_call_set_share(json_t *object, uint32_t ppm, uint32_t most_ppm);
void clv_call_set_number(json_t *object, const char *key, uint64_t number);
void clv_call_set_flag(json_t *object, const char *key, bool flag);

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

/* One request and its answer; every call of libcleave is made of this. */
struct clv_call {
	const char *method;
	struct clv_url url;
	const json_t *body; /* sent as JSON; NULL: text */
	const char *text;   /* sent as YAML; NULL: no body at all */
	size_t n_bytes;
	uint32_t timeout_ms; /* for the answer; 0: the default */
	uint32_t wait_ms;    /* added to it, for a call that waits in the agent */
	bool no_resend;      /* not sent again to the agent's successor */
};

/* How long drivers may take to list the devices, and to report how they are divided. */
#define CLV_CALL_PROBE_MS 10000u
#define CLV_CALL_SURVEY_MS 60000u

/* Sends the request.  If the agent went away and this client may start one, the request
 * is sent once more to its successor, unless it may have been carried out: only if it was
 * never sent, is a GET, or has an idempotency key.  ret may be NULL. */
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

/* Set members of a request's body; NULL, zero and false are left out. */
void clv_call_set_text(json_t *object, const char *key, const char *text);
void clv_call_set_fraction(json_t *object, const char *key, uint32_t ppm);
/* With most_ppm: a range. */
void clv_call_set_share(json_t *object, uint32_t ppm, uint32_t most_ppm);
void clv_call_set_number(json_t *object, const char *key, uint64_t number);
void clv_call_set_flag(json_t *object, const char *key, bool flag);

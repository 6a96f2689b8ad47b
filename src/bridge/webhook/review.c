/* SPDX-License-Identifier: Apache-2.0 */
/* The envelope of the API server's calls. */
#include "bridge/webhook/review.h"

#include "base/cleanup.h"
#include "base/error.h"

#include <errno.h>
#include <nettle/base64.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#define VERSION "admission.k8s.io/v1"
#define STATUS_UNPROCESSABLE 422 /* as the API server's own checks of objects */

static bool has_text(const json_t *object, const char *key, const char *text)
{
	const char *is = json_string_value(json_object_get(object, key));

	return is && strcmp(is, text) == 0;
}

static bool is_new_pod(const json_t *request)
{
	const json_t *resource = json_object_get(request, "resource");
	const char *part = json_string_value(json_object_get(request, "subResource"));

	return has_text(request, "operation", "CREATE") &&
	       has_text(resource, "group", "") && has_text(resource, "version", "v1") &&
	       has_text(resource, "resource", "pods") && (!part || !part[0]) &&
	       json_is_object(json_object_get(request, "object"));
}

static json_t *wrap(json_t *response)
{
	return json_pack("{s:s,s:s,s:o}", "apiVersion", VERSION, "kind",
		"AdmissionReview", "response", response);
}

static json_t *allow(const json_t *uid)
{
	return json_pack("{s:O,s:b}", "uid", uid, "allowed", 1);
}

static json_t *refuse(const json_t *uid, const char *why)
{
	return json_pack("{s:O,s:b,s:{s:s,s:s,s:i}}", "uid", uid, "allowed", 0, "status",
		"message", why, "reason", "Invalid", "code", STATUS_UNPROCESSABLE);
}

/* A patch is bytes in Go, and so base64 in JSON. */
static json_t *allow_with(const json_t *uid, const json_t *operations)
{
	json_t *response = allow(uid);
	char *text, *encoded = NULL;
	size_t n;

	if (!response || json_array_size(operations) == 0)
		return response;
	text = json_dumps(operations, JSON_COMPACT);
	n = text ? strlen(text) : 0;
	if (text)
		encoded = calloc(1, BASE64_ENCODE_RAW_LENGTH(n) + 1);
	if (encoded) {
		base64_encode_raw(encoded, n, (const uint8_t *)text);
		json_object_set_new(response, "patch", json_string(encoded));
		json_object_set_new(response, "patchType", json_string("JSONPatch"));
	}
	free(text);
	free(encoded);
	if (!json_object_get(response, "patchType") ||
		!json_object_get(response, "patch")) {
		json_decref(response);
		return NULL;
	}
	return response;
}

int clv_webhook_review(const struct clv_webhook_settings *settings,
	const struct clv_webhook_profiles *profiles, const json_t *review, json_t **ret,
	struct clv_error *err)
{
	const json_t *request = json_object_get(review, "request");
	const json_t *uid = json_object_get(request, "uid");
	json_t *operations = NULL, *response = NULL;
	struct clv_error why = {0};
	int r = 0;

	if (!has_text(review, "apiVersion", VERSION) ||
		!has_text(review, "kind", "AdmissionReview") || !json_is_string(uid))
		return clv_error_set(err, -EINVAL,
			"this is no AdmissionReview of " VERSION " with a request");
	if (is_new_pod(request))
		r = clv_webhook_mutate(settings, profiles,
			json_object_get(request, "object"), &operations, &why);
	if (r == -ENOMEM)
		return clv_error_set(err, r, "%s", why.msg);
	response = r < 0 ? refuse(uid, why.msg) : allow_with(uid, operations);
	json_decref(operations);
	*ret = response ? wrap(response) : NULL;
	return *ret ? 0 : clv_error_errno(err, ENOMEM, "cannot answer");
}

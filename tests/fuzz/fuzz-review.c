/* SPDX-License-Identifier: Apache-2.0 */
/* Bodies that the webhook gets.  The first byte selects the settings.  Whatever the pod
 * is, its patch can be applied, and a second call finds nothing to change. */
#include "fuzz.h"

#include "apply-patch.h"
#include "base/error.h"
#include "bridge/webhook/review.h"

#include <errno.h>
#include <nettle/base64.h>
#include <stdbool.h>

#define GIB (UINT64_C(1) << 30)

static int find(void *userdata, const char *name, struct clv_webhook_profile *ret,
	struct clv_error *err)
{
	*ret = (struct clv_webhook_profile){
		.share = name[0] == 's' ? 25 : 0,
		.memory_bytes = strchr(name, 'm') ? 10 * GIB : 0,
	};
	return name[0] == 'x' ? clv_error_set(err, -ENOENT, "there is no %s", name) : 0;
}

static void choose(uint8_t byte, struct clv_webhook_settings *settings)
{
	*settings = (struct clv_webhook_settings){
		.pairs = (enum clv_webhook_pairs)(byte % _CLV_WEBHOOK_PAIRS_MAX),
		.unit_bytes = byte & 4   ? GIB
			      : byte & 8 ? 0
					 : GIB / 1024,
		.device_bytes = byte & 16 ? 80 * GIB : 0,
		.largest_bytes = byte & 16 ? 96 * GIB : 0,
	};
	if (byte & 32) {
		strcpy(settings->runtime_class, "nvidia");
		strcpy(settings->scheduler, "shares");
		strcpy(settings->classes[0].priority, "high");
		settings->classes[0].name = "latency";
		settings->n_classes = 1;
	}
}

static json_t *decode(const char *text)
{
	struct base64_decode_ctx context;
	size_t n = strlen(text), n_decoded = BASE64_DECODE_LENGTH(n);
	uint8_t *decoded = malloc(n_decoded + 1);
	json_t *value;

	CLV_MUST(decoded);
	base64_decode_init(&context);
	CLV_MUST(base64_decode_update(&context, &n_decoded, decoded, n, text));
	CLV_MUST(base64_decode_final(&context));
	value = json_loadb((char *)decoded, n_decoded, 0, NULL);
	CLV_MUST(value);
	free(decoded);
	return value;
}

static void check_refusal(const json_t *response)
{
	const char *message = json_string_value(
		json_object_get(json_object_get(response, "status"), "message"));

	CLV_MUST(message && message[0]);
	CLV_MUST(!json_object_get(response, "patch"));
	for (const char *p = message; *p; p++)
		CLV_MUST((unsigned char)*p >= ' ');
}

enum outcome { REFUSED, COMPLETE, CHANGED };

static enum outcome run(const struct clv_webhook_settings *settings, json_t *review)
{
	const struct clv_webhook_profiles profiles = {.find = find};
	json_t *answer = NULL, *request = json_object_get(review, "request"), *response;
	json_t *operations;
	struct clv_error err = {0};
	int r = clv_webhook_review(settings, &profiles, review, &answer, &err);
	enum outcome outcome = COMPLETE;
	const char *patch;

	if (r < 0) {
		CLV_MUST(r == -EINVAL && err.code == r && err.msg[0]);
		return REFUSED;
	}
	response = json_object_get(answer, "response");
	CLV_MUST(json_equal(
		json_object_get(response, "uid"), json_object_get(request, "uid")));
	patch = json_string_value(json_object_get(response, "patch"));
	if (!json_is_true(json_object_get(response, "allowed"))) {
		check_refusal(response);
		outcome = REFUSED;
	} else if (patch) {
		outcome = CHANGED;
		operations = decode(patch);
		CLV_MUST(json_array_size(operations) > 0);
		CLV_MUST(
			apply_patch(json_object_get(request, "object"), operations) == 0);
		json_decref(operations);
	}
	json_decref(answer);
	return outcome;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t n_bytes)
{
	struct clv_webhook_settings settings;
	json_t *review;

	if (n_bytes == 0)
		return 0;
	choose(data[0], &settings);
	review = json_loadb(
		(const char *)data + 1, n_bytes - 1, JSON_REJECT_DUPLICATES, NULL);
	if (review && run(&settings, review) == CHANGED)
		CLV_MUST(run(&settings, review) == COMPLETE);
	json_decref(review);
	return 0;
}

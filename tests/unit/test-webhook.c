/* SPDX-License-Identifier: Apache-2.0 */
/* What the webhook makes of pods: a row for each pod. */
#include "apply-patch.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "bridge/webhook/amount.h"
#include "bridge/webhook/review.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define GIB (UINT64_C(1) << 30)

#define S "cleave.dev/gpu-share"
#define M "cleave.dev/gpu-memory"
#define MG "cleave.dev/gpu-memory-1gi"

static const struct clv_webhook_settings bare = {0};
static const struct clv_webhook_settings pairs = {
	.pairs = CLV_WEBHOOK_PAIRS_REQUIRED,
	.unit_bytes = GIB,
	.device_bytes = 80 * GIB,
	.largest_bytes = 96 * GIB,
};
static const struct clv_webhook_settings pairs_in_mib = {
	.pairs = CLV_WEBHOOK_PAIRS_REQUIRED,
	.unit_bytes = GIB / 1024,
	.device_bytes = 80 * GIB,
};
static const struct clv_webhook_settings pairs_of_unknown = {
	.pairs = CLV_WEBHOOK_PAIRS_REQUIRED};
static const struct clv_webhook_settings one_of_both = {
	.pairs = CLV_WEBHOOK_PAIRS_REFUSED, .unit_bytes = GIB};
static const struct clv_webhook_settings cluster = {.runtime_class = "nvidia",
	.scheduler = "shares",
	.classes = {{.priority = "high", .name = "latency"},
		{.priority = "low", .name = "batch"}},
	.n_classes = 2};

static int find(void *userdata, const char *name, struct clv_webhook_profile *ret,
	struct clv_error *err)
{
	if (strcmp(name, "small") == 0)
		*ret = (struct clv_webhook_profile){.share = 25};
	else if (strcmp(name, "sized") == 0)
		*ret = (struct clv_webhook_profile){
			.share = 50, .memory_bytes = 10 * GIB};
	else
		return clv_error_set(err, -ENOENT, "there is no share profile %s: %s",
			name, "there are sized, small");
	return 0;
}

static const struct clv_webhook_profiles profiles = {.find = find};

/* JSON with ' for ". */
static json_t *parse(const char *text)
{
	char *copy = strdup(text);
	json_t *value;

	for (char *c = copy; *c; c++) {
		if (*c == '\'')
			*c = '"';
	}
	value = json_loads(copy, 0, NULL);
	if (!value)
		fail_msg("not JSON: %s", copy);
	free(copy);
	return value;
}

/* A pod with one container of these resources. */
static json_t *pod_of(const char *resources)
{
	char text[1024];

	snprintf(text, sizeof(text),
		"{'metadata': {}, 'spec': {'containers': [{'name': 'c', 'resources': "
		"%s}]}}",
		resources);
	return parse(text);
}

/* The pod as the patch leaves it; NULL: refused. */
static json_t *complete(const struct clv_webhook_settings *settings, const json_t *pod,
	struct clv_error *err)
{
	json_t *operations = NULL, *copy;
	int r = clv_webhook_mutate(settings, &profiles, pod, &operations, err);

	if (r < 0) {
		assert_int_equal(r, err->code);
		assert_null(strchr(err->msg, '\n'));
		return NULL;
	}
	copy = json_deep_copy(pod);
	assert_int_equal(apply_patch(copy, operations), 0);
	json_decref(operations);
	assert_int_equal(
		clv_webhook_mutate(settings, &profiles, copy, &operations, err), 0);
	if (json_array_size(operations) > 0)
		fail_msg("the second call changes it again: %s",
			json_dumps(operations, JSON_COMPACT));
	json_decref(operations);
	return copy;
}

static void check_equal(json_t *is, json_t *should)
{
	if (!json_equal(is, should))
		fail_msg("%s, and should be %s",
			json_dumps(is, JSON_COMPACT | JSON_SORT_KEYS),
			json_dumps(should, JSON_COMPACT | JSON_SORT_KEYS));
	json_decref(is);
	json_decref(should);
}

static void test_completed(void **state)
{
	static const struct {
		const struct clv_webhook_settings *settings;
		const char *before;
		const char *amounts; /* as limits and as requests */
	} rows[] = {
		/* The limit of a request, the request of a limit. */
		{&bare, "{'limits': {'" S "': '30'}}", "{'" S "': '30'}"},
		{&bare, "{'requests': {'" S "': '30'}}", "{'" S "': '30'}"},
		{&bare, "{'requests': {'" S "': '30'}, 'limits': {}}", "{'" S "': '30'}"},
		{&bare, "{'requests': {'" M "': '4Ki'}, 'limits': null}",
			"{'" M "': '4Ki'}"},
		{&bare, "{'limits': {'" S "': 30}, 'requests': {'" S "': 30}}",
			"{'" S "': 30}"},
		{&bare, "{'limits': {'cleave.dev/mig-1g.10gb': '1'}}",
			"{'cleave.dev/mig-1g.10gb': '1'}"},
		{&bare, "{'limits': {'cleave.dev/gpu': '2'}}", "{'cleave.dev/gpu': '2'}"},
		/* A node may have all of these. */
		{&pairs, "{'limits': {'" S "': '30', 'cleave.dev/mig-1g.10gb': '1'}}",
			"{'" S "': '30', '" MG "': '24', 'cleave.dev/mig-1g.10gb': '1'}"},
		{&bare,
			"{'limits': {'cleave.dev/gpu': '1', 'cleave.dev/vf-4': '1', "
			"'cleave.dev/mig-1g.10gb': '1'}}",
			"{'cleave.dev/gpu': '1', 'cleave.dev/vf-4': '1', "
			"'cleave.dev/mig-1g.10gb': '1'}"},
		/* Both of a pair where nodes may have pairs: nothing is added. */
		{&bare, "{'limits': {'" S "': '30', '" M "': '1'}}",
			"{'" S "': '30', '" M "': '1'}"},
		/* The memory of a share, rounded down; at least one unit. */
		{&pairs, "{'limits': {'" S "': '30'}}",
			"{'" S "': '30', '" MG "': '24'}"},
		{&pairs, "{'limits': {'" S "': '33'}}",
			"{'" S "': '33', '" MG "': '26'}"},
		{&pairs, "{'limits': {'" S "': '1'}}", "{'" S "': '1', '" MG "': '1'}"},
		{&pairs, "{'limits': {'" S "': '100'}}",
			"{'" S "': '100', '" MG "': '80'}"},
		{&pairs_in_mib, "{'limits': {'" S "': '33'}}",
			"{'" S "': '33', '" M "': '27033'}"},
		/* The share of memory, rounded up; at most a device. */
		{&pairs, "{'limits': {'" MG "': '24'}}",
			"{'" S "': '30', '" MG "': '24'}"},
		{&pairs, "{'limits': {'" MG "': '25'}}",
			"{'" S "': '32', '" MG "': '25'}"},
		{&pairs, "{'limits': {'" MG "': '90'}}",
			"{'" S "': '100', '" MG "': '90'}"},
		{&pairs, "{'requests': {'" M "': '1'}}", "{'" S "': '1', '" M "': '1'}"},
		{&pairs, "{'limits': {'" MG "': '40', '" S "': '10'}}",
			"{'" S "': '10', '" MG "': '40'}"},
		/* Whole devices and parts are no pairs, and neither is 0. */
		{&pairs, "{'limits': {'cleave.dev/gpu': '1'}}",
			"{'cleave.dev/gpu': '1'}"},
		{&pairs, "{'limits': {'" S "': '0'}}", "{'" S "': '0'}"},
		{&one_of_both, "{'limits': {'" MG "': '5'}}", "{'" MG "': '5'}"},
	};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(rows); i++) {
		struct clv_error err = {0};
		json_t *pod = pod_of(rows[i].before);
		json_t *after = complete(rows[i].settings, pod, &err);
		json_t *amounts = parse(rows[i].amounts);

		if (!after)
			fail_msg("%s is refused: %s", rows[i].before, err.msg);
		check_equal(json_incref(json_object_get(
				    json_array_get(json_object_get(
							   json_object_get(after, "spec"),
							   "containers"),
					    0),
				    "resources")),
			json_pack("{s:O,s:O}", "limits", amounts, "requests", amounts));
		json_decref(amounts);
		json_decref(after);
		json_decref(pod);
	}
}

static void test_refused(void **state)
{
	static const struct {
		const struct clv_webhook_settings *settings;
		const char *resources, *why, *what_would_work;
	} rows[] = {
		{&bare, "{'limits': {'" S "': '130'}}", "130 of " S, "at most 100"},
		{&bare, "{'limits': {'" S "': '-1'}}", "negative", "1 or more"},
		{&bare, "{'limits': {'" S "': -5}}", "negative", "1 or more"},
		{&bare, "{'limits': {'" S "': '500m'}}", "hundredths", "50"},
		{&bare, "{'limits': {'" S "': '0.5'}}", "hundredths", "50"},
		{&bare, "{'limits': {'" S "': 0.5}}", "hundredths", "50"},
		{&bare, "{'limits': {'" M "': '1500m'}}", "whole number", "1 or more"},
		{&bare, "{'limits': {'" S "': 'half'}}", "half", "whole number"},
		{&bare, "{'limits': {'" S "': null}}", "no number", "whole number"},
		{&bare, "{'limits': {'" S "': '30'}, 'requests': {'" S "': '20'}}",
			"must be equal", "the limit alone"},
		{&bare, "{'limits': {'" S "': '30', 'cleave.dev/gpu': '1'}}",
			"a node has one of them", "two pods"},
		{&bare,
			"{'limits': {'" M
			"': '30'}, 'requests': {'cleave.dev/gpu-replica': 1}}",
			"a node has one of them", "two pods"},
		{&bare, "{'limits': {'" M "': '30', '" MG "': '1'}}",
			"a node has one of them", "two pods"},
		{&bare, "{'limits': {'" M "': '1', '" MG "': '1', '" S "': '1'}}",
			"a node has one of them", "two pods"},
		{&bare, "{'limits': {'cleave.dev/mig-1g.10gb': '2'}}", "one MIG instance",
			"several containers"},
		{&bare, "{'limits': {'" MG "': '9000000000000000000'}}",
			"more than any device", "1024 MiB"},
		{&pairs, "{'limits': {'" MG "': '97'}}", "97 GiB", "request less"},
		{&pairs_of_unknown, "{'limits': {'" S "': '30'}}", "share alone",
			"request cleave.dev/gpu-memory too"},
		{&pairs_of_unknown, "{'limits': {'" M "': '30'}}", "memory alone",
			"request cleave.dev/gpu-share too"},
		{&one_of_both, "{'limits': {'" S "': '30', '" MG "': '1'}}",
			"nodes have one of them", "request one"},
	};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(rows); i++) {
		struct clv_error err = {0};
		json_t *pod = pod_of(rows[i].resources);

		assert_null(complete(rows[i].settings, pod, &err));
		if (!strstr(err.msg, rows[i].why) ||
			!strstr(err.msg, rows[i].what_would_work) ||
			!strstr(err.msg, "container c: "))
			fail_msg("%s: %s", rows[i].resources, err.msg);
		json_decref(pod);
	}
}

/* Profiles: the pod's metadata and containers, and what they are then; or the reason. */
static void test_profiles(void **state)
{
	static const struct {
		const struct clv_webhook_settings *settings;
		const char *metadata, *first, *second, *share; /* of both, "" for none */
		const char *other_share, *memory, *why;
	} rows[] = {
		{&bare, "'annotations': {'cleave.dev/share-profile': 'small'}", "{}",
			"{}", "25", "", "", NULL},
		{&bare, "'labels': {'cleave.dev/share-profile': 'small'}", "{}", "{}",
			"25", "", "", NULL},
		{&bare,
			"'annotations': {'cleave.dev/share-profile': 'small', "
			"'kubectl.kubernetes.io/default-container': 'b'}",
			"{}", "{}", "", "25", "", NULL},
		{&bare, "'annotations': {'cleave.dev/share-profile': 'b=small'}", "{}",
			"{}", "", "25", "", NULL},
		{&one_of_both,
			"'annotations': {'cleave.dev/share-profile': 'small, b=small'}",
			"{}", "{}", "25", "25", "", NULL},
		/* The annotation is preferred. */
		{&bare,
			"'annotations': {'cleave.dev/share-profile': 'small'}, "
			"'labels': {'cleave.dev/share-profile': 'unknown'}",
			"{}", "{}", "25", "", "", NULL},
		{&pairs, "'labels': {'cleave.dev/share-profile': 'small'}", "{}", "{}",
			"25", "", "20", NULL},
		{&pairs, "'labels': {'cleave.dev/share-profile': 'sized'}", "{}", "{}",
			"50", "", "10", NULL},
		{&pairs, "'labels': {'cleave.dev/share-profile': 'sized'}",
			"{'limits': {'" S "': '50'}}", "{}", "50", "", "10", NULL},
		{&pairs, "'labels': {'cleave.dev/share-profile': 'small'}",
			"{'limits': {'" MG "': '9'}}", "{}", "25", "", "9", NULL},
		{&bare, "'labels': {'cleave.dev/share-profile': 'huge'}", "{}", "{}", "",
			"", "", "there are sized, small"},
		{&bare, "'labels': {'cleave.dev/share-profile': 'small'}",
			"{'limits': {'" S "': '30'}}", "{}", "", "", "", "other amounts"},
		{&pairs, "'labels': {'cleave.dev/share-profile': 'sized'}",
			"{'limits': {'" MG "': '9'}}", "{}", "", "", "", "other amounts"},
		{&bare, "'labels': {'cleave.dev/share-profile': 'small'}",
			"{'limits': {'cleave.dev/gpu': '1'}}", "{}", "", "", "",
			"leave one of them out"},
		{&bare, "'labels': {'cleave.dev/share-profile': 'sized'}", "{}", "{}", "",
			"", "", "memoryUnit"},
		{&bare, "'annotations': {'cleave.dev/share-profile': 'd=small'}", "{}",
			"{}", "", "", "", "container d, which the pod does not have"},
		{&bare, "'annotations': {'cleave.dev/share-profile': 'a=small,small'}",
			"{}", "{}", "", "", "", "two profiles"},
		{&bare, "'annotations': {'cleave.dev/share-profile': 'a='}", "{}", "{}",
			"", "", "", "CONTAINER=NAME"},
		{&bare, "'annotations': {'cleave.dev/share-profile': 'a b'}", "{}", "{}",
			"", "", "", "CONTAINER=NAME"},
	};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(rows); i++) {
		struct clv_error err = {0};
		char text[1024];
		json_t *pod, *after;
		const char *share[2] = {"", ""}, *memory = "";

		snprintf(text, sizeof(text),
			"{'metadata': {%s}, 'spec': {'containers': [{'name': 'a', "
			"'resources': %s}, {'name': 'b', 'resources': %s}]}}",
			rows[i].metadata, rows[i].first, rows[i].second);
		pod = parse(text);
		after = complete(rows[i].settings, pod, &err);
		if (rows[i].why) {
			assert_null(after);
			if (!strstr(err.msg, rows[i].why))
				fail_msg("%s: %s", text, err.msg);
			json_decref(pod);
			continue;
		}
		if (!after)
			fail_msg("%s: %s", text, err.msg);
		for (int at = 0; at < 2; at++) {
			json_t *limits = json_object_get(
				json_object_get(
					json_array_get(
						json_object_get(
							json_object_get(after, "spec"),
							"containers"),
						(size_t)at),
					"resources"),
				"limits");

			json_unpack(limits, "{s:s}", S, &share[at]);
			if (at == 0)
				json_unpack(limits, "{s:s}", MG, &memory);
		}
		assert_string_equal(share[0], rows[i].share);
		assert_string_equal(share[1], rows[i].other_share);
		assert_string_equal(memory, rows[i].memory);
		json_decref(after);
		json_decref(pod);
	}
}

/* A pod gets what the cluster has for pods with leases, unless it names its own. */
static void test_cluster(void **state)
{
	static const struct {
		const char *resources, *more, *runtime_class, *scheduler;
	} rows[] = {
		{"{'limits': {'" S "': '30'}}", "", "nvidia", "shares"},
		{"{'limits': {'" S "': '30'}}", ", 'schedulerName': 'default-scheduler'",
			"nvidia", "shares"},
		{"{'limits': {'" S "': '30'}}",
			", 'schedulerName': 'own', 'runtimeClassName': 'runc'", "runc",
			"own"},
		{"{'limits': {'cpu': '1'}}", ", 'schedulerName': 'default-scheduler'", "",
			"default-scheduler"},
		{"{}", "", "", ""},
	};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(rows); i++) {
		const char *runtime_class = "", *scheduler = "";
		struct clv_error err = {0};
		char text[512];
		json_t *pod, *after;

		snprintf(text, sizeof(text),
			"{'spec': {'containers': [{'name': 'x'}], 'initContainers': "
			"[{'name': 'i', 'resources': %s}]%s}}",
			rows[i].resources, rows[i].more);
		pod = parse(text);
		after = complete(&cluster, pod, &err);
		assert_non_null(after);
		json_unpack(json_object_get(after, "spec"), "{s:s}", "runtimeClassName",
			&runtime_class);
		json_unpack(json_object_get(after, "spec"), "{s:s}", "schedulerName",
			&scheduler);
		assert_string_equal(runtime_class, rows[i].runtime_class);
		assert_string_equal(scheduler, rows[i].scheduler);
		json_decref(after);
		json_decref(pod);
	}
}

/* The class of a pod by its PriorityClass; NULL: it is refused. */
static void test_classes(void **state)
{
	static const struct {
		const char *metadata, *priority, *share, *class;
	} rows[] = {
		{"", "high", "30", "latency"},
		{"", "low", "30", "batch"},
		{"", "other", "30", ""},
		{"", "", "30", ""},
		{"", "high", "0", ""},
		{"'annotations': {'cleave.dev/class': 'normal'}", "high", "30", "normal"},
		{"'annotations': null", "low", "30", "batch"},
		{"'annotations': {'cleave.dev/class': 'urgent'}", "", "30", NULL},
	};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(rows); i++) {
		struct clv_error err = {0};
		const char *class = "";
		char text[512];
		json_t *pod, *after;

		snprintf(text, sizeof(text),
			"{'metadata': {%s}, 'spec': {'priorityClassName': '%s', "
			"'containers': [{'resources': {'limits': {'" S "': '%s'}}}]}}",
			rows[i].metadata, rows[i].priority, rows[i].share);
		pod = parse(text);
		after = complete(&cluster, pod, &err);
		assert_int_equal(after != NULL, rows[i].class != NULL);
		if (!after)
			assert_non_null(strstr(err.msg, "latency, normal or batch"));
		json_unpack(json_object_get(
				    json_object_get(after, "metadata"), "annotations"),
			"{s:s}", "cleave.dev/class", &class);
		if (after)
			assert_string_equal(class, rows[i].class);
		json_decref(after);
		json_decref(pod);
	}
}

/* What is no pod to be created is allowed as it is, and no review is refused. */
static void test_reviews(void **state)
{
	static const char *const allowed[] = {
		"{'uid': 'u'}",
		"{'uid': 'u', 'operation': 'DELETE', 'object': null, 'resource': "
		"{'group': '', 'version': 'v1', 'resource': 'pods'}}",
		"{'uid': 'u', 'operation': 'CREATE', 'object': {'spec': {'containers': "
		"[{'resources': {'limits': {'" S "': '130'}}}]}}, 'subResource': "
		"'ephemeralcontainers', 'resource': {'group': '', 'version': 'v1', "
		"'resource': 'pods'}}",
	};
	static const char *const refused[] = {
		"{}",
		"[]",
		"{'apiVersion': 'admission.k8s.io/v1', 'kind': 'AdmissionReview'}",
		"{'apiVersion': 'admission.k8s.io/v1beta1', 'kind': 'AdmissionReview', "
		"'request': {'uid': 'u'}}",
		"{'apiVersion': 'admission.k8s.io/v1', 'kind': 'Pod', 'request': {'uid': "
		"'u'}}",
	};
	struct clv_error err = {0};
	json_t *answer = NULL;

	for (size_t i = 0; i < CLV_ARRAY_SIZE(allowed); i++) {
		json_t *review =
			json_pack("{s:s,s:s,s:o}", "apiVersion", "admission.k8s.io/v1",
				"kind", "AdmissionReview", "request", parse(allowed[i]));

		assert_int_equal(
			clv_webhook_review(&bare, &profiles, review, &answer, &err), 0);
		check_equal(answer,
			parse("{'apiVersion': 'admission.k8s.io/v1', 'kind': "
			      "'AdmissionReview', 'response': {'uid': 'u', 'allowed': "
			      "true}}"));
		json_decref(review);
	}
	for (size_t i = 0; i < CLV_ARRAY_SIZE(refused); i++) {
		json_t *review = parse(refused[i]);

		assert_int_equal(
			clv_webhook_review(&bare, &profiles, review, &answer, &err),
			-EINVAL);
		assert_non_null(strstr(err.msg, "AdmissionReview"));
		json_decref(review);
	}
}

/* Names in messages are the user's, before Kubernetes has checked them. */
static void test_names_in_messages(void **state)
{
	json_t *pod = parse("{'spec': {'containers': [{'name': 'a\\nb\\u001b', "
			    "'resources': {'limits': {'" S "': '130'}}}]}}");
	struct clv_error err = {0};

	assert_null(complete(&bare, pod, &err));
	assert_non_null(strstr(err.msg, "container a?b?: "));
	json_decref(pod);
}

static void write_file(const char *folder, const char *name, const char *text)
{
	char path[256];
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "w");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void remove_file(const char *folder, const char *name)
{
	char path[256];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	unlink(path);
}

/* The files of a mounted ConfigMap. */
static void test_profile_files(void **state)
{
	static const char *const names[] = {"small", "full", "empty", "odd", ".hidden"};
	static const char *const texts[] = {"{share: 25}", "{share: 50, memory: 20Gi}",
		"{}", "{share: 101}", "{share: 1}"};
	char folder[] = "/tmp/clv-webhook-XXXXXX";
	struct clv_webhook_profile profile;
	struct clv_error err = {0};

	assert_non_null(mkdtemp(folder));
	for (size_t i = 0; i < CLV_ARRAY_SIZE(names); i++)
		write_file(folder, names[i], texts[i]);
	assert_int_equal(clv_webhook_profile_read(folder, "small", &profile, &err), 0);
	assert_int_equal(profile.share, 25);
	assert_int_equal(profile.memory_bytes, 0);
	assert_int_equal(clv_webhook_profile_read(folder, "full", &profile, &err), 0);
	assert_int_equal(profile.share, 50);
	assert_int_equal(profile.memory_bytes, 20 * GIB);
	assert_true(clv_webhook_profile_read(folder, "empty", &profile, &err) < 0);
	assert_non_null(strstr(err.msg, "neither share nor memory"));
	assert_true(clv_webhook_profile_read(folder, "odd", &profile, &err) < 0);
	assert_non_null(strstr(err.msg, "odd:1:9"));
	for (const char *const *name = (const char *const[]){".hidden", "none",
		     "../small", "", "a/b", NULL};
		*name; name++) {
		assert_int_equal(
			clv_webhook_profile_read(folder, *name, &profile, &err), -ENOENT);
		assert_non_null(strstr(err.msg, "there are empty, full, odd, small"));
	}
	assert_int_equal(
		clv_webhook_profile_read(NULL, "small", &profile, &err), -ENOENT);
	assert_non_null(strstr(err.msg, "the cluster has none"));
	for (size_t i = 0; i < CLV_ARRAY_SIZE(names); i++)
		remove_file(folder, names[i]);
	rmdir(folder);
}

static void test_settings(void **state)
{
	static const struct {
		const char *text, *wrong;
	} rows[] = {
		{"version: 1\n", NULL},
		{"version: 1\npairs: required\nmemory-unit: 1G\ndevice-memory: 80Gi\n"
		 "largest-device-memory: 141Gi\nruntime-class: nvidia\nscheduler: s\n"
		 "classes: {high: latency, low: batch}\n",
			NULL},
		{"pairs: any\n", "version"},
		{"version: 1\npairs: sometimes\n", "2:8"},
		{"version: 1\nmemory-unit: 1K\n", "mebibytes"},
		{"version: 1\ndevice-memory: 80Gi\nlargest-device-memory: 40Gi\n",
			"smallest"},
		{"version: 1\npair: any\n", "pairs"},
		{"version: 1\nclasses: {high: urgent}\n", "2:17"},
		{"version: 1\nclasses: high\n", "PriorityClasses"},
	};
	char folder[] = "/tmp/clv-webhook-XXXXXX", path[64];
	struct clv_webhook_settings settings;

	assert_non_null(mkdtemp(folder));
	snprintf(path, sizeof(path), "%s/settings", folder);
	for (size_t i = 0; i < CLV_ARRAY_SIZE(rows); i++) {
		struct clv_error err = {0};
		int r;

		write_file(folder, "settings", rows[i].text);
		r = clv_webhook_settings_read(path, &settings, &err);
		assert_int_equal(r < 0, rows[i].wrong != NULL);
		if (rows[i].wrong && !strstr(err.msg, rows[i].wrong))
			fail_msg("%s", err.msg);
		if (i == 1) {
			assert_int_equal(settings.pairs, CLV_WEBHOOK_PAIRS_REQUIRED);
			assert_int_equal(settings.unit_bytes, GIB);
			assert_int_equal(settings.device_bytes, 80 * GIB);
			assert_int_equal(settings.largest_bytes, 141 * GIB);
			assert_string_equal(settings.runtime_class, "nvidia");
			assert_string_equal(settings.scheduler, "s");
			assert_int_equal(settings.n_classes, 2);
			assert_string_equal(settings.classes[1].priority, "low");
			assert_string_equal(settings.classes[1].name, "batch");
		}
	}
	unlink(path);
	rmdir(folder);
}

static void test_names(void **state)
{
	static const struct {
		const char *name;
		enum clv_webhook_kind kind;
		uint32_t unit_mib;
	} rows[] = {
		{S, CLV_WEBHOOK_SHARE, 0},
		{M, CLV_WEBHOOK_MEMORY, 1},
		{MG, CLV_WEBHOOK_MEMORY, 1024},
		{M "-256mi", CLV_WEBHOOK_MEMORY, 256},
		{M "-0gi", CLV_WEBHOOK_PART, 0},
		{M "-9999gi", CLV_WEBHOOK_PART, 0},
		{M "-1ti", CLV_WEBHOOK_PART, 0},
		{"cleave.dev/gpu", CLV_WEBHOOK_WHOLE, 0},
		{"cleave.dev/gpu-replica", CLV_WEBHOOK_WHOLE, 0},
		{"cleave.dev/mig-1g.10gb", CLV_WEBHOOK_MIG, 0},
		{"cleave.dev/cpx-nps4", CLV_WEBHOOK_PART, 0},
		{"nvidia.com/gpu", CLV_WEBHOOK_FOREIGN, 0},
		{"cpu", CLV_WEBHOOK_FOREIGN, 0},
	};
	char name[CLV_WEBHOOK_RESOURCE_MAX];

	for (size_t i = 0; i < CLV_ARRAY_SIZE(rows); i++) {
		uint32_t unit_mib;

		assert_int_equal(
			clv_webhook_kind_of(rows[i].name, &unit_mib), rows[i].kind);
		assert_int_equal(unit_mib, rows[i].unit_mib);
		if (unit_mib > 0) {
			clv_webhook_name_memory((uint64_t)unit_mib << 20, name);
			assert_string_equal(name, rows[i].name);
		}
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_completed),
		cmocka_unit_test(test_refused),
		cmocka_unit_test(test_profiles),
		cmocka_unit_test(test_cluster),
		cmocka_unit_test(test_classes),
		cmocka_unit_test(test_reviews),
		cmocka_unit_test(test_names_in_messages),
		cmocka_unit_test(test_profile_files),
		cmocka_unit_test(test_settings),
		cmocka_unit_test(test_names),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Completes a pod: its containers, with the share profiles that it names, then what holds
 * for the whole pod. */
#include "bridge/webhook/mutate.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/text.h"
#include "bridge/webhook/container.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

#define DEFAULT_CONTAINER "kubectl.kubernetes.io/default-container"
#define DEFAULT_SCHEDULER "default-scheduler"
#define CHOICES_MAX 64
#define NAME_MAX_BYTES 254

/* The profile of a container. */
struct choice {
	char container[NAME_MAX_BYTES], profile[NAME_MAX_BYTES];
	bool is_used;
};

struct pod {
	const struct clv_webhook_settings *settings;
	const struct clv_webhook_profiles *profiles;
	const json_t *object;
	struct clv_patch patch;
	struct choice choices[CHOICES_MAX];
	size_t n_choices;
	bool uses_cleave;
};

static const json_t *metadata_of(const json_t *pod, const char *member)
{
	return json_object_get(json_object_get(pod, "metadata"), member);
}

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

/* --- Which container has which profile --- */

/* The container for a profile that names none. */
static const char *default_container(const json_t *pod)
{
	const json_t *containers =
		json_object_get(json_object_get(pod, "spec"), "containers");
	const char *wanted = text_of(metadata_of(pod, "annotations"), DEFAULT_CONTAINER);
	const json_t *container;
	size_t i;

	json_array_foreach (containers, i, container) {
		if (wanted[0] && strcmp(text_of(container, "name"), wanted) == 0)
			return text_of(container, "name");
	}
	return text_of(json_array_get(containers, 0), "name");
}

static int fail_choice(struct clv_error *err, const char *text)
{
	return clv_error_set(err, -EINVAL,
		"the annotation " CLV_WEBHOOK_PROFILE_KEY " is '%.100s': NAME is "
		"expected, or CONTAINER=NAME for each of several containers, with commas "
		"between",
		text);
}

static void copy(char ret[NAME_MAX_BYTES], const char *text, size_t n)
{
	snprintf(ret, NAME_MAX_BYTES, "%.*s", (int)n, text);
}

/* One item, of n bytes, of the list. */
static int read_choice(struct pod *pod, const char *text, size_t n, struct clv_error *err)
{
	const char *equals = memchr(text, '=', n);
	size_t n_container = equals ? (size_t)(equals - text) : 0;
	size_t n_profile = equals ? n - n_container - 1 : n;
	struct choice *choice = &pod->choices[pod->n_choices];

	if (n_profile == 0 || n_profile >= NAME_MAX_BYTES || (equals && !n_container) ||
		n_container >= NAME_MAX_BYTES || pod->n_choices == CHOICES_MAX)
		return fail_choice(err, text);
	copy(choice->profile, equals ? equals + 1 : text, n_profile);
	if (equals)
		copy(choice->container, text, n_container);
	else
		snprintf(choice->container, NAME_MAX_BYTES, "%s",
			default_container(pod->object));
	for (size_t i = 0; i < pod->n_choices; i++) {
		if (strcmp(pod->choices[i].container, choice->container) == 0)
			return clv_error_set(err, -EINVAL,
				"the annotation " CLV_WEBHOOK_PROFILE_KEY " has two "
				"profiles for the container %.64s: leave one of them out",
				choice->container);
	}
	pod->n_choices++;
	return 0;
}

static int read_choices(struct pod *pod, struct clv_error *err)
{
	const char *text =
		text_of(metadata_of(pod->object, "annotations"), CLV_WEBHOOK_PROFILE_KEY);
	int r = 0;

	if (!text[0])
		text = text_of(
			metadata_of(pod->object, "labels"), CLV_WEBHOOK_PROFILE_KEY);
	while (r >= 0 && text[0]) {
		size_t n, n_skipped = strspn(text, " ");

		text += n_skipped;
		n = strcspn(text, ", ");
		r = read_choice(pod, text, n, err);
		text += n;
		text += strspn(text, " ");
		if (r >= 0 && text[0] && *text++ != ',')
			return fail_choice(err, text);
	}
	return r;
}

/* The profile of the container; ret_has: whether it has one. */
static int find_profile(struct pod *pod, const char *container,
	struct clv_webhook_profile *ret, bool *ret_has, struct clv_error *err)
{
	*ret_has = false;
	for (size_t i = 0; i < pod->n_choices; i++) {
		struct choice *choice = &pod->choices[i];

		if (strcmp(choice->container, container) != 0)
			continue;
		choice->is_used = *ret_has = true;
		return pod->profiles->find(
			pod->profiles->userdata, choice->profile, ret, err);
	}
	return 0;
}

static int check_choices(const struct pod *pod, struct clv_error *err)
{
	for (size_t i = 0; i < pod->n_choices; i++) {
		if (!pod->choices[i].is_used)
			return clv_error_set(err, -EINVAL,
				"the annotation " CLV_WEBHOOK_PROFILE_KEY " names the "
				"container %.64s, which the pod does not have: use one "
				"of its names",
				pod->choices[i].container);
	}
	return 0;
}

/* --- The pod --- */

static int complete_list(struct pod *pod, const char *list, struct clv_error *err)
{
	const json_t *spec = json_object_get(pod->object, "spec");
	struct clv_webhook_container container = {.list = list};
	int r = 0;

	json_array_foreach (json_object_get(spec, list), container.at, container.object) {
		struct clv_webhook_profile profile = {0};
		bool has_profile = false, uses_cleave = false;

		r = find_profile(pod, clv_webhook_container_name(&container), &profile,
			&has_profile, err);
		if (r >= 0)
			r = clv_webhook_container_complete(pod->settings, &container,
				has_profile ? &profile : NULL, &pod->patch, &uses_cleave,
				err);
		if (r < 0)
			return r;
		pod->uses_cleave = pod->uses_cleave || uses_cleave;
	}
	return 0;
}

static int set_of_spec(
	struct pod *pod, const char *member, const char *text, struct clv_error *err)
{
	const char *const keys[] = {"spec", member};
	int r = clv_patch_set(&pod->patch, keys, 2, json_string(text));

	return r < 0 ? clv_error_set(err, r, "spec.%s cannot be set", member) : 0;
}

/* What pods with leases need of the cluster and do not name themselves. */
static int complete_spec(struct pod *pod, struct clv_error *err)
{
	const struct clv_webhook_settings *settings = pod->settings;
	const json_t *spec = json_object_get(pod->object, "spec");
	const char *scheduler = text_of(spec, "schedulerName");
	int r = 0;

	if (settings->runtime_class[0] && !text_of(spec, "runtimeClassName")[0])
		r = set_of_spec(pod, "runtimeClassName", settings->runtime_class, err);
	/* Kubernetes fills in the default before webhooks are called. */
	if (r >= 0 && settings->scheduler[0] &&
		strcmp(scheduler, settings->scheduler) != 0 &&
		(!scheduler[0] || strcmp(scheduler, DEFAULT_SCHEDULER) == 0))
		r = set_of_spec(pod, "schedulerName", settings->scheduler, err);
	return r;
}

/* The class by the PriorityClass, unless the pod has one. */
static int complete_class(struct pod *pod, struct clv_error *err)
{
	static const char *const keys[] = {
		"metadata", "annotations", CLV_WEBHOOK_CLASS_KEY};
	const char *class =
		text_of(metadata_of(pod->object, "annotations"), CLV_WEBHOOK_CLASS_KEY);
	const char *priority =
		text_of(json_object_get(pod->object, "spec"), "priorityClassName");
	int r = 0;

	if (class[0])
		return clv_webhook_class_find(class)
			       ? 0
			       : clv_error_set(err, -EINVAL,
					 "the annotation " CLV_WEBHOOK_CLASS_KEY
					 " is '%.20s': latency, normal or batch is "
					 "expected",
					 class);
	for (size_t i = 0; i < pod->settings->n_classes && r >= 0; i++) {
		const struct clv_webhook_class *one = &pod->settings->classes[i];

		if (strcmp(one->priority, priority) == 0)
			r = clv_patch_set(&pod->patch, keys, 3, json_string(one->name));
	}
	return r < 0 ? clv_error_set(err, r, "the pod's class cannot be set") : 0;
}

static int complete(struct pod *pod, struct clv_error *err)
{
	int r = read_choices(pod, err);

	if (r >= 0)
		r = complete_list(pod, "initContainers", err);
	if (r >= 0)
		r = complete_list(pod, "containers", err);
	if (r >= 0)
		r = check_choices(pod, err);
	if (r < 0 || !pod->uses_cleave)
		return r;
	r = complete_class(pod, err);
	return r < 0 ? r : complete_spec(pod, err);
}

int clv_webhook_mutate(const struct clv_webhook_settings *settings,
	const struct clv_webhook_profiles *profiles, const json_t *pod,
	json_t **ret_operations, struct clv_error *err)
{
	struct pod state = {.settings = settings, .profiles = profiles, .object = pod};
	int r;

	if (clv_patch_init(&state.patch, pod) < 0)
		return clv_error_errno(err, ENOMEM, "cannot complete the pod");
	r = complete(&state, err);
	if (r >= 0)
		*ret_operations = CLV_TAKE(state.patch.operations);
	else if (err) /* names in it are the user's, and not checked yet */
		clv_text_make_printable(err->msg);
	clv_patch_clear(&state.patch);
	return r;
}

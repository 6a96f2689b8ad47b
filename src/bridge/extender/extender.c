/* SPDX-License-Identifier: Apache-2.0 */
/* Answers kube-scheduler's requests: filter, prioritize and bind. */
#include "bridge/extender/extender.h"

#include "base/cleanup.h"
#include "base/duration.h"
#include "base/error.h"

#include <errno.h>
#include <pthread.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>

#define BEST 10 /* MaxExtenderPriority */

struct clv_extender {
	struct clv_extender_options options;
	pthread_mutex_t lock; /* protects what follows; not held during a call to bind */
	struct clv_places *places;
	bool has_nodes;    /* a whole list of nodes was read */
	uint64_t since_ns; /* nodes are not followed since then; 0: they are */
	char why[256];     /* the reason */
};

struct clv_extender *clv_extender_new(const struct clv_extender_options *options)
{
	struct clv_extender *extender = calloc(1, sizeof(*extender));

	if (!extender)
		return NULL;
	extender->options = *options;
	extender->places = clv_places_new();
	snprintf(extender->why, sizeof(extender->why), "they have just been asked for");
	pthread_mutex_init(&extender->lock, NULL);
	return extender->places ? extender : clv_extender_free(extender);
}

struct clv_extender *clv_extender_free(struct clv_extender *extender)
{
	if (!extender)
		return NULL;
	clv_places_free(extender->places);
	pthread_mutex_destroy(&extender->lock);
	free(extender);
	return NULL;
}

static const char *text_of(const json_t *value)
{
	const char *text = json_string_value(value);

	return text ? text : "";
}

/* A member of a message of extender/v1.  Its types have no JSON tags: a scheduler in Go
 * sends the names of their fields ("NodeNames"), others may send what Kubernetes' other
 * types would have ("nodeNames").  Go's encoding/json ignores the case of keys, and so
 * does this function, which prefers the exact name. */
static json_t *get_field(const json_t *message, const char *name)
{
	json_t *exact = json_object_get(message, name), *value;
	const char *key;

	if (exact)
		return exact;
	json_object_foreach ((json_t *)message, key, value) {
		if (strcasecmp(key, name) == 0)
			return value;
	}
	return NULL;
}

static const char *name_of(const json_t *node)
{
	return text_of(json_object_get(json_object_get(node, "metadata"), "name"));
}

/* The nodes of a request and the verdict on each. */
struct question {
	const json_t *nodes;          /* borrowed; objects or names */
	bool has_names;               /* they are names: nodeCacheCapable: true */
	struct clv_verdict *verdicts; /* owned */
	size_t n;
};

static const char *node_name_of(const struct question *question, size_t i)
{
	const json_t *item = json_array_get(question->nodes, i);

	return question->has_names ? text_of(item) : name_of(item);
}

static int find_nodes(struct clv_extender *extender, const json_t *body,
	struct question *ret, struct clv_error *err)
{
	const json_t *objects = json_object_get(get_field(body, "Nodes"), "items");
	const json_t *names = get_field(body, "NodeNames");
	bool has_names = !json_is_array(objects) && json_is_array(names);

	*ret = (struct question){
		.nodes = has_names ? names : objects, .has_names = has_names};
	ret->n = json_array_size(ret->nodes);
	if (!json_is_array(ret->nodes))
		return clv_error_set(
			err, -EINVAL, "the scheduler sent neither nodes nor their names");
	if (has_names && !extender->has_nodes)
		return clv_error_set(err, -EAGAIN, "the nodes are not known yet: %.160s",
			extender->why);
	return 0;
}

static int judge(struct clv_extender *extender, const json_t *body, uint64_t now_ns,
	struct question *ret, struct clv_error *err)
{
	struct clv_pod pod;
	int r;

	pthread_mutex_lock(&extender->lock);
	r = find_nodes(extender, body, ret, err);
	pthread_mutex_unlock(&extender->lock);
	if (r >= 0)
		r = clv_pod_read(
			get_field(body, "Pod"), &extender->options.resources, &pod, err);
	if (r < 0)
		return r;
	ret->verdicts = calloc(ret->n + 1, sizeof(*ret->verdicts));
	if (!ret->verdicts)
		return clv_error_errno(err, ENOMEM, "cannot judge the nodes");
	pthread_mutex_lock(&extender->lock);
	r = clv_places_judge(
		extender->places, ret->nodes, &pod, now_ns, ret->verdicts, err);
	pthread_mutex_unlock(&extender->lock);
	return r;
}

/* A scheduler does not try to preempt pods on the nodes of FailedAndUnresolvableNodes.
 * They are in FailedNodes, too, since schedulers before 1.21 do not read that member. */
static json_t *filter(struct clv_extender *extender, const json_t *body, uint64_t now_ns)
{
	json_t *fit = json_array(), *failed = json_object(), *hopeless = json_object();
	struct question question;
	struct clv_error err = {0};
	int r = judge(extender, body, now_ns, &question, &err);
	const char *error = r < 0 ? err.msg : "";

	for (size_t i = 0; r >= 0 && i < question.n; i++) {
		const struct clv_verdict *verdict = &question.verdicts[i];
		const char *name = node_name_of(&question, i);

		if (verdict->fits)
			json_array_append(fit, json_array_get(question.nodes, i));
		else
			json_object_set_new(failed, name, json_string(verdict->reason));
		if (verdict->is_hopeless)
			json_object_set_new(hopeless, name, json_string(verdict->reason));
	}
	free(question.verdicts);
	if (question.has_names)
		return json_pack("{s:o,s:o,s:o,s:s}", "NodeNames", fit, "FailedNodes",
			failed, "FailedAndUnresolvableNodes", hopeless, "Error", error);
	return json_pack("{s:{s:o},s:o,s:o,s:s}", "Nodes", "items", fit, "FailedNodes",
		failed, "FailedAndUnresolvableNodes", hopeless, "Error", error);
}

/* Scales a score to the scheduler's range, whole numbers from 0 to BEST. */
static int grade(const struct clv_verdict *verdict, int64_t least, int64_t most)
{
	if (!verdict->fits)
		return 0;
	return most == least ? BEST
			     : (int)((verdict->score - least) * BEST / (most - least));
}

static void find_bounds(const struct question *question, int64_t *least, int64_t *most)
{
	*least = INT64_MAX;
	*most = INT64_MIN;
	for (size_t i = 0; i < question->n; i++) {
		const struct clv_verdict *verdict = &question->verdicts[i];

		if (verdict->fits && verdict->score < *least)
			*least = verdict->score;
		if (verdict->fits && verdict->score > *most)
			*most = verdict->score;
	}
}

/* The answer has no member for errors: all nodes get score 0 then; the filter has
 * reported the error. */
static json_t *prioritize(
	struct clv_extender *extender, const json_t *body, uint64_t now_ns)
{
	struct question question;
	json_t *list = json_array();
	int64_t least, most;
	int r = judge(extender, body, now_ns, &question, NULL);

	if (r >= 0)
		find_bounds(&question, &least, &most);
	for (size_t i = 0; i < question.n; i++)
		json_array_append_new(list,
			json_pack("{s:s,s:i}", "Host", node_name_of(&question, i),
				"Score",
				r < 0 ? 0 : grade(&question.verdicts[i], least, most)));
	free(question.verdicts);
	return list;
}

/* Names become part of a URL path, so they must be DNS subdomains (apimachinery,
 * pkg/util/validation). */
static bool is_name(const char *name)
{
	static const char allowed[] = "abcdefghijklmnopqrstuvwxyz0123456789.-";

	return name[0] && name[0] != '.' && strspn(name, allowed) == strlen(name);
}

/* The room is held before the pod is bound, and released if the binding fails. */
static json_t *bind(struct clv_extender *extender, const json_t *body, uint64_t now_ns)
{
	const struct clv_extender_options *options = &extender->options;
	const char *uid = text_of(get_field(body, "PodUID"));
	const char *node = text_of(get_field(body, "Node"));
	const char *namespace = text_of(get_field(body, "PodNamespace"));
	const char *name = text_of(get_field(body, "PodName"));
	struct clv_error err = {0};
	json_t *held = NULL;
	char *placed = NULL;
	int r;

	if (!is_name(namespace) || !is_name(name) || !is_name(node))
		return json_pack(
			"{s:s}", "Error", "the pod or the node has no valid name");
	pthread_mutex_lock(&extender->lock);
	r = clv_places_hold(extender->places, uid, node, now_ns, &err);
	if (r >= 0)
		held = clv_places_show_held(extender->places, uid);
	pthread_mutex_unlock(&extender->lock);
	if (r < 0)
		return json_pack("{s:s}", "Error", err.msg);
	placed = json_dumps(held, JSON_COMPACT);
	r = options->bind(options->userdata, namespace, name, uid, node,
		placed ? placed : "[]", &err);
	free(placed);
	json_decref(held);
	if (r < 0) {
		pthread_mutex_lock(&extender->lock);
		clv_places_release(extender->places, uid);
		clv_places_forget(extender->places, uid);
		pthread_mutex_unlock(&extender->lock);
	}
	return json_pack("{s:s}", "Error", r < 0 ? err.msg : "");
}

json_t *clv_extender_handle(struct clv_extender *extender, const char *path,
	const json_t *body, uint64_t now_ns)
{
	static const struct {
		const char *path;
		json_t *(*answer)(struct clv_extender *extender, const json_t *body,
			uint64_t now_ns);
	} questions[] = {
		{"/filter", filter},
		{"/prioritize", prioritize},
		{"/bind", bind},
	};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(questions); i++) {
		if (strcmp(questions[i].path, path) == 0)
			return questions[i].answer(extender, body, now_ns);
	}
	return NULL;
}

/* --- What the API server tells --- */

void clv_extender_tell_node(struct clv_extender *extender, enum clv_extender_told what,
	const json_t *object, uint64_t now_ns)
{
	pthread_mutex_lock(&extender->lock);
	switch (what) {
	case CLV_EXTENDER_LIST_BEGINS:
		clv_places_begin_list(extender->places);
		break;
	case CLV_EXTENDER_LISTED:
		clv_places_list_node(extender->places, object, now_ns);
		break;
	case CLV_EXTENDER_LIST_ENDS:
		clv_places_end_list(extender->places);
		extender->has_nodes = true;
		break;
	case CLV_EXTENDER_CHANGED:
		clv_places_change_node(extender->places, object, now_ns);
		break;
	case CLV_EXTENDER_DELETED:
		clv_places_remove_node(extender->places, name_of(object));
		break;
	}
	pthread_mutex_unlock(&extender->lock);
}

void clv_extender_tell_pod(struct clv_extender *extender, enum clv_extender_told what,
	const json_t *object, uint64_t now_ns)
{
	const json_t *metadata = json_object_get(object, "metadata");

	pthread_mutex_lock(&extender->lock);
	switch (what) {
	case CLV_EXTENDER_LIST_BEGINS:
		clv_places_begin_pods(extender->places);
		break;
	case CLV_EXTENDER_LIST_ENDS:
		clv_places_end_pods(extender->places);
		break;
	case CLV_EXTENDER_LISTED:
	case CLV_EXTENDER_CHANGED:
		clv_places_adopt(
			extender->places, object, &extender->options.resources, now_ns);
		break;
	case CLV_EXTENDER_DELETED:
		clv_places_forget(
			extender->places, text_of(json_object_get(metadata, "uid")));
		break;
	}
	pthread_mutex_unlock(&extender->lock);
}

void clv_extender_tell_state(
	struct clv_extender *extender, const char *why, uint64_t now_ns)
{
	pthread_mutex_lock(&extender->lock);
	extender->since_ns = why ? now_ns : 0;
	snprintf(extender->why, sizeof(extender->why), "%s", why ? why : "");
	pthread_mutex_unlock(&extender->lock);
}

bool clv_extender_is_ready(
	struct clv_extender *extender, uint64_t now_ns, char *ret, size_t ret_bytes)
{
	bool has_nodes;

	pthread_mutex_lock(&extender->lock);
	has_nodes = extender->has_nodes;
	if (!has_nodes)
		snprintf(
			ret, ret_bytes, "the nodes are not known yet: %s", extender->why);
	else if (extender->since_ns)
		snprintf(ret, ret_bytes, "the nodes are those of %u s ago: %s",
			(unsigned)((now_ns - extender->since_ns) / CLV_NS_PER_S),
			extender->why);
	else
		snprintf(ret, ret_bytes, "ok");
	pthread_mutex_unlock(&extender->lock);
	return has_nodes;
}

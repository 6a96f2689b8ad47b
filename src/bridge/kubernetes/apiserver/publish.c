/* SPDX-License-Identifier: Apache-2.0 */
/* Publishes ResourceSlices.  The API server normalizes quantities, so its slices cannot
 * be compared with the specs: each slice has an annotation with the checksum of its spec.
 */
#include "bridge/kubernetes/apiserver/publish.h"

#include "base/cleanup.h"
#include "base/crc32.h"
#include "base/error.h"
#include "bridge/kubernetes/apiserver/cluster.h"

#include <errno.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define MADE_OF CLV_KUBE_DOMAIN "/made-of"
#define PATH_MAX_BYTES 1024
#define FIRST_APART 35 /* Kubernetes 1.35 */

int clv_kube_publish_separates_counters(
	struct clv_kube_cluster *cluster, bool *ret, struct clv_error *err)
{
	json_t *version = NULL;
	const char *minor;
	int r = clv_kube_cluster_request(cluster, "GET", "/version", NULL, &version, err);

	if (r < 0)
		return r;
	minor = json_string_value(json_object_get(version, "minor")); /* "34", "34+" */
	*ret = minor && atoi(minor) >= FIRST_APART;
	json_decref(version);
	return 0;
}

struct publication {
	struct clv_kube_cluster *cluster;
	const struct clv_kube_settings *settings;
	const json_t *specs;
	json_t *existing; /* owned; the server's slices */
	json_int_t generation;
	json_t *owners; /* owned; a reference to the node; NULL: it cannot be read */
};

static void make_path(
	const struct publication *p, const char *ending, char ret[PATH_MAX_BYTES])
{
	snprintf(ret, PATH_MAX_BYTES, "/apis/resource.k8s.io/%s/resourceslices%s",
		p->settings->version, ending);
}

static void make_name(const struct publication *p, size_t i, char ret[PATH_MAX_BYTES])
{
	snprintf(ret, PATH_MAX_BYTES, "%s-%s-%zu", p->settings->node, p->settings->driver,
		i);
}

static void make_checksum(const json_t *spec, char ret[16])
{
	_cleanup_free_ char *text = json_dumps(spec, JSON_COMPACT | JSON_SORT_KEYS);

	snprintf(ret, 16, "%08" PRIx32, text ? clv_crc32(0, text, strlen(text)) : 0);
}

static int list(struct publication *p, struct clv_error *err)
{
	char path[PATH_MAX_BYTES], query[PATH_MAX_BYTES];
	json_t *answer = NULL;
	int r;

	snprintf(query, sizeof(query),
		"?fieldSelector=spec.driver%%3D%s%%2Cspec.nodeName%%3D%s",
		p->settings->driver, p->settings->node);
	make_path(p, query, path);
	r = clv_kube_cluster_request(p->cluster, "GET", path, NULL, &answer, err);
	if (r < 0)
		return r;
	p->existing = json_incref(json_object_get(answer, "items"));
	json_decref(answer);
	return json_is_array(p->existing)
		       ? 0
		       : clv_error_set(err, -EPROTO, "the API server lists no slices");
}

/* Slices refer to the node as their owner, so that they are garbage-collected with it. */
static int find_owner(struct publication *p, struct clv_error *err)
{
	char path[PATH_MAX_BYTES];
	json_t *node = NULL;
	const char *uid;
	int r;

	snprintf(path, sizeof(path), "/api/v1/nodes/%s", p->settings->node);
	r = clv_kube_cluster_request(p->cluster, "GET", path, NULL, &node, err);
	if (r == -EPERM || r == -ENOENT)
		return 0;
	if (r < 0)
		return r;
	uid = json_string_value(
		json_object_get(json_object_get(node, "metadata"), "uid"));
	if (uid)
		p->owners = json_pack("[{s:s,s:s,s:s,s:s,s:b}]", "apiVersion", "v1",
			"kind", "Node", "name", p->settings->node, "uid", uid,
			"controller", true);
	json_decref(node);
	return 0;
}

static const json_t *find(const struct publication *p, const char *name)
{
	const json_t *slice;
	size_t i;

	json_array_foreach (p->existing, i, slice) {
		const char *other = json_string_value(
			json_object_get(json_object_get(slice, "metadata"), "name"));

		if (other && strcmp(other, name) == 0)
			return slice;
	}
	return NULL;
}

static json_int_t generation_of(const json_t *slice)
{
	const json_t *pool = json_object_get(json_object_get(slice, "spec"), "pool");

	return json_integer_value(json_object_get(pool, "generation"));
}

static bool is_current(const struct publication *p, size_t i, json_int_t generation)
{
	char name[PATH_MAX_BYTES], checksum[16];
	const json_t *slice, *notes;
	const char *made_of;

	make_name(p, i, name);
	make_checksum(json_array_get(p->specs, i), checksum);
	slice = find(p, name);
	notes = json_object_get(json_object_get(slice, "metadata"), "annotations");
	made_of = json_string_value(json_object_get(notes, MADE_OF));
	return made_of && strcmp(made_of, checksum) == 0 &&
	       generation_of(slice) == generation;
}

static bool are_current(const struct publication *p)
{
	size_t n = json_array_size(p->specs);
	json_int_t generation = generation_of(json_array_get(p->existing, 0));

	if (json_array_size(p->existing) != n)
		return false;
	for (size_t i = 0; i < n; i++) {
		if (!is_current(p, i, generation))
			return false;
	}
	return true;
}

/* In v1beta1 all but the name of a device is in "basic". */
static void wrap_devices(json_t *spec)
{
	json_t *devices = json_object_get(spec, "devices"), *device;
	size_t i;

	json_array_foreach (devices, i, device) {
		json_t *basic = json_copy(device);

		json_object_del(basic, "name");
		json_array_set_new(devices, i,
			json_pack("{s:O,s:o}", "name", json_object_get(device, "name"),
				"basic", basic));
	}
}

static json_t *make_slice(const struct publication *p, size_t i, const json_t *old)
{
	json_t *spec = json_deep_copy(json_array_get(p->specs, i)), *slice;
	const json_t *version =
		json_object_get(json_object_get(old, "metadata"), "resourceVersion");
	char name[PATH_MAX_BYTES], checksum[16], api[64];

	make_name(p, i, name);
	make_checksum(spec, checksum);
	if (strcmp(p->settings->version, "v1beta1") == 0)
		wrap_devices(spec);
	snprintf(api, sizeof(api), "resource.k8s.io/%s", p->settings->version);
	json_object_set_new(spec, "driver", json_string(p->settings->driver));
	json_object_set_new(spec, "nodeName", json_string(p->settings->node));
	json_object_set_new(spec, "pool",
		json_pack("{s:s,s:I,s:I}", "name", p->settings->node, "generation",
			p->generation, "resourceSliceCount",
			(json_int_t)json_array_size(p->specs)));
	slice = json_pack("{s:s,s:s,s:{s:s,s:{s:s}},s:o}", "apiVersion", api, "kind",
		"ResourceSlice", "metadata", "name", name, "annotations", MADE_OF,
		checksum, "spec", spec);
	if (p->owners)
		json_object_set(
			json_object_get(slice, "metadata"), "ownerReferences", p->owners);
	if (version)
		json_object_set_new(json_object_get(slice, "metadata"), "resourceVersion",
			json_deep_copy(version));
	return slice;
}

/* ret: NULL, or the slice as the API server would store it; then it is not stored. */
static int write_slice(
	const struct publication *p, size_t i, json_t **ret, struct clv_error *err)
{
	char name[PATH_MAX_BYTES], path[PATH_MAX_BYTES], ending[PATH_MAX_BYTES];
	const json_t *old;
	json_t *slice;
	int r;

	make_name(p, i, name);
	old = find(p, name);
	snprintf(ending, sizeof(ending), "%s%.900s%s", old ? "/" : "", old ? name : "",
		ret ? "?dryRun=All" : "");
	make_path(p, ending, path);
	slice = make_slice(p, i, old);
	r = clv_kube_cluster_request(
		p->cluster, old ? "PUT" : "POST", path, slice, ret, err);
	json_decref(slice);
	return r;
}

/* What the API server drops silently where a feature gate is off, for devices of a slice.
 * Without counters the scheduler would allocate places that exclude each other, and
 * without taints devices that are unhealthy. */
static const char *const gated[_CLV_KUBE_GATED_MAX] = {
	[CLV_KUBE_GATED_COUNTERS] = "consumesCounters",
	[CLV_KUBE_GATED_TAINTS] = "taints",
};

static bool has(const json_t *spec, const char *key)
{
	const json_t *devices = json_object_get(spec, "devices"), *device;
	size_t i;

	json_array_foreach (devices, i, device) {
		const json_t *basic = json_object_get(device, "basic");

		if (json_array_size(json_object_get(basic ? basic : device, key)) > 0)
			return true;
	}
	return false;
}

/* Tests each key once, by a dry run with the first slice that has it. */
static int check_gates(
	const struct publication *p, unsigned *ret_lost, struct clv_error *err)
{
	unsigned tested = 0;

	*ret_lost = 0;
	for (size_t i = 0; i < json_array_size(p->specs); i++) {
		const json_t *spec = json_array_get(p->specs, i);
		json_t *answer = NULL;
		unsigned asked = 0;
		int r;

		for (unsigned k = 0; k < _CLV_KUBE_GATED_MAX; k++)
			asked |= (unsigned)has(spec, gated[k]) << k;
		if ((asked & ~tested) == 0)
			continue;
		r = write_slice(p, i, &answer, err);
		if (r < 0)
			return r;
		for (unsigned k = 0; k < _CLV_KUBE_GATED_MAX; k++) {
			if (!has(json_object_get(answer, "spec"), gated[k]))
				*ret_lost |= asked & 1u << k;
		}
		tested |= asked;
		json_decref(answer);
	}
	return *ret_lost == 0 ? 0
			      : clv_error_set(err, -EOPNOTSUPP,
					"the API server drops fields of devices");
}

static bool is_wanted(const struct publication *p, const char *name)
{
	char other[PATH_MAX_BYTES];

	for (size_t i = 0; i < json_array_size(p->specs); i++) {
		make_name(p, i, other);
		if (strcmp(other, name) == 0)
			return true;
	}
	return false;
}

static int remove_others(const struct publication *p, struct clv_error *err)
{
	char path[PATH_MAX_BYTES], ending[PATH_MAX_BYTES];
	const json_t *slice;
	size_t i;

	json_array_foreach (p->existing, i, slice) {
		const char *name = json_string_value(
			json_object_get(json_object_get(slice, "metadata"), "name"));
		int r;

		if (!name || is_wanted(p, name))
			continue;
		snprintf(ending, sizeof(ending), "/%.900s", name);
		make_path(p, ending, path);
		r = clv_kube_cluster_request(p->cluster, "DELETE", path, NULL, NULL, err);
		if (r < 0 && r != -ENOENT)
			return r;
	}
	return 0;
}

int clv_kube_publish(struct clv_kube_cluster *cluster,
	const struct clv_kube_settings *settings, const struct json_t *specs,
	unsigned *ret_lost, struct clv_error *err)
{
	struct publication p = {.cluster = cluster, .settings = settings, .specs = specs};
	const json_t *slice;
	size_t i;
	int r = list(&p, err);

	if (r < 0 || are_current(&p)) {
		json_decref(p.existing);
		return r;
	}
	json_array_foreach (p.existing, i, slice) {
		if (p.generation < generation_of(slice))
			p.generation = generation_of(slice);
	}
	p.generation++;
	r = find_owner(&p, err);
	if (r >= 0)
		r = check_gates(&p, ret_lost, err);
	for (i = 0; i < json_array_size(specs) && r >= 0; i++)
		r = write_slice(&p, i, NULL, err);
	if (r >= 0)
		r = remove_others(&p, err);
	json_decref(p.owners);
	json_decref(p.existing);
	return r < 0 ? r : 1;
}

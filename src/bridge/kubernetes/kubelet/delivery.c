/* SPDX-License-Identifier: Apache-2.0 */
/* The parts of kubelet's ContainerAllocateResponse. */
#include "bridge/kubernetes/kubelet/delivery.h"

#include "bridge/kubernetes/device-plugin.pb-c.h"
#include "bridge/kubernetes/kubelet/message.h"
#include "bridge/kubernetes/lease/spec.h"

#include <jansson.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

/* The prefix is CDI's, what follows names the plugin and the device (SPEC.md, "Kubernetes
 * annotations"). */
#define ANNOTATION "cdi.k8s.io/cleave.dev_"
#define NAME_BYTES (CLV_KUBE_NAME_MAX + 32)

/* Owns the lists; the texts belong to the edits and to the caller. */
struct lists {
	V1beta1__Entry *envs, **env_list;
	V1beta1__Mount *mounts, **mount_list;
	V1beta1__DeviceSpec *devices, **device_list;
	char **names; /* of variables */
	size_t n_envs;
};

static void free_lists(struct lists *lists)
{
	for (size_t i = 0; i < lists->n_envs; i++)
		free(lists->names[i]);
	free(lists->names);
	free(lists->envs);
	free(lists->env_list);
	free(lists->mounts);
	free(lists->mount_list);
	free(lists->devices);
	free(lists->device_list);
}

static bool alloc_lists(
	struct lists *lists, size_t n_envs, size_t n_mounts, size_t n_nodes)
{
	lists->names = calloc(n_envs + 1, sizeof(*lists->names));
	lists->envs = calloc(n_envs + 1, sizeof(*lists->envs));
	lists->env_list = calloc(n_envs + 1, sizeof(*lists->env_list));
	lists->mounts = calloc(n_mounts + 1, sizeof(*lists->mounts));
	lists->mount_list = calloc(n_mounts + 1, sizeof(*lists->mount_list));
	lists->devices = calloc(n_nodes + 1, sizeof(*lists->devices));
	lists->device_list = calloc(n_nodes + 1, sizeof(*lists->device_list));
	return lists->names && lists->envs && lists->env_list && lists->mounts &&
	       lists->mount_list && lists->devices && lists->device_list;
}

static char *text_of(const json_t *object, const char *key)
{
	return (char *)json_string_value(json_object_get(object, key));
}

static void add_variables(struct lists *lists, const json_t *variables)
{
	const json_t *variable;
	size_t i;

	json_array_foreach (variables, i, variable) {
		const char *text = json_string_value(variable);
		const char *equals = text ? strchr(text, '=') : NULL;
		V1beta1__Entry *entry = &lists->envs[lists->n_envs];
		char *name = equals ? strndup(text, (size_t)(equals - text)) : NULL;

		if (!name)
			continue;
		v1beta1__entry__init(entry);
		entry->key = name;
		entry->value = (char *)equals + 1;
		lists->env_list[lists->n_envs] = entry;
		lists->names[lists->n_envs++] = name;
	}
}

static void add_mounts(struct lists *lists, const json_t *mounts)
{
	const json_t *mount;
	size_t i;

	json_array_foreach (mounts, i, mount) {
		v1beta1__mount__init(&lists->mounts[i]);
		lists->mounts[i].container_path = text_of(mount, "containerPath");
		lists->mounts[i].host_path = text_of(mount, "hostPath");
		lists->mounts[i].read_only = true;
		lists->mount_list[i] = &lists->mounts[i];
	}
}

static void add_nodes(struct lists *lists, const json_t *nodes)
{
	static char read_and_write[] = "rw";
	const json_t *node;
	size_t i;

	json_array_foreach (nodes, i, node) {
		char *host = text_of(node, "hostPath"), *path = text_of(node, "path");

		v1beta1__device_spec__init(&lists->devices[i]);
		lists->devices[i].container_path = path;
		lists->devices[i].host_path = host ? host : path;
		lists->devices[i].permissions = read_and_write;
		lists->device_list[i] = &lists->devices[i];
	}
}

/* false: out of memory. */
static bool add_edits(struct lists *lists, const json_t *edits,
	V1beta1__ContainerAllocateResponse *answer)
{
	const json_t *variables = json_object_get(edits, "env");
	const json_t *mounts = json_object_get(edits, "mounts");
	const json_t *nodes = json_object_get(edits, "deviceNodes");

	if (!alloc_lists(lists, json_array_size(variables), json_array_size(mounts),
		    json_array_size(nodes)))
		return false;
	add_variables(lists, variables);
	add_mounts(lists, mounts);
	add_nodes(lists, nodes);
	answer->n_envs = lists->n_envs;
	answer->envs = lists->env_list;
	answer->n_mounts = json_array_size(mounts);
	answer->mounts = lists->mount_list;
	answer->n_devices = json_array_size(nodes);
	answer->devices = lists->device_list;
	return true;
}

void clv_kube_deliver(struct clv_rpc_call *call, const char *lease, unsigned ways,
	const struct json_t *edits)
{
	V1beta1__AllocateResponse answer = V1BETA1__ALLOCATE_RESPONSE__INIT;
	V1beta1__ContainerAllocateResponse item =
		V1BETA1__CONTAINER_ALLOCATE_RESPONSE__INIT;
	V1beta1__ContainerAllocateResponse *items = &item;
	V1beta1__CDIDevice device = V1BETA1__CDIDEVICE__INIT, *devices = &device;
	V1beta1__Entry note = V1BETA1__ENTRY__INIT, *notes = &note;
	char name[NAME_BYTES], key[sizeof(ANNOTATION) + NAME_BYTES];
	CLV_CLEANUP(free_lists) struct lists lists = {};

	answer.n_container_responses = 1;
	answer.container_responses = &items;
	clv_kube_spec_name(lease, name);
	snprintf(key, sizeof(key), ANNOTATION "%s", lease);
	device.name = name;
	note.key = key;
	note.value = name;
	item.cdi_devices = &devices;
	item.annotations = &notes;
	if (lease[0] != '\0') {
		item.n_cdi_devices = (ways & CLV_KUBE_BY_CDI) != 0;
		item.n_annotations = (ways & CLV_KUBE_BY_ANNOTATIONS) != 0;
	}
	if (edits && !add_edits(&lists, edits, &item))
		clv_rpc_fail(call, CLV_RPC_RESOURCE_EXHAUSTED, "out of memory");
	else
		clv_kube_answer(call, &answer.base);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The places of the node that claims are allocated, published as slices. */
#include "bridge/kubernetes/lease/claims-internal.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/log.h"
#include "bridge/kubernetes/apiserver/publish.h"
#include "bridge/kubernetes/lease/claims.h"
#include "bridge/kubernetes/lease/refusal.h"

#include <cleave.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

/* --- Places of the node --- */

/* Finds the places of all devices, also of unhealthy ones. */
static int find_all(struct clv_kube_claims *claims, const json_t *node,
	const struct clv_kube_inventory *inventory, struct clv_kube_places *ret,
	struct clv_error *err)
{
	struct clv_kube_inventory well = {.n = inventory->n};
	json_t *specs = NULL;
	int r;

	well.items = calloc(well.n + 1, sizeof(*well.items));
	if (!well.items)
		return clv_error_errno(err, ENOMEM, "cannot describe the node");
	memcpy(well.items, inventory->items, well.n * sizeof(*well.items));
	for (size_t i = 0; i < well.n; i++)
		well.items[i].is_healthy = true;
	r = clv_kube_slices_make(
		node, &well, &claims->settings, claims->server, ret, &specs, err);
	json_decref(specs);
	clv_kube_inventory_clear(&well);
	return r;
}

/* ret_all may be NULL. */
static int describe(struct clv_kube_claims *claims, struct clv_kube_lease_sync *sync,
	const struct clv_kube_inventory *inventory, struct clv_kube_places *ret_all,
	json_t **ret_specs, struct clv_error *err)
{
	struct clv_client_error failure;
	struct clv_client *client;
	struct clv_kube_places places;
	json_t *node = NULL;
	int r = clv_kube_lease_sync_client(sync, &client, err);

	if (r < 0)
		return r;
	r = clv_client_node(client, &node, &failure);
	if (r < 0)
		return clv_kube_refuse(r, failure.msg, err);
	r = clv_kube_slices_make(node, inventory, &claims->settings, claims->server,
		&places, ret_specs, err);
	if (r >= 0 && ret_all)
		find_all(claims, node, inventory, ret_all, err);
	json_decref(node);
	if (r < 0)
		return r;
	clv_kube_places_clear(&claims->places);
	claims->places = places;
	return 0;
}

int clv_kube_claims_find_place(struct clv_kube_claims *claims,
	struct clv_kube_lease_sync *sync, const char *name,
	const struct clv_kube_place **ret, struct clv_error *err)
{
	struct clv_kube_inventory inventory = {};
	struct clv_client *client;
	json_t *specs = NULL;
	int r = 0;

	*ret = clv_kube_places_find(&claims->places, name);
	if (*ret)
		return 0;
	/* The cache is empty after a start and stale after a change of the node. */
	r = clv_kube_lease_sync_client(sync, &client, err);
	if (r >= 0)
		r = clv_kube_inventory_fetch(client, &inventory, err);
	if (r >= 0)
		r = describe(claims, sync, &inventory, NULL, &specs, err);
	json_decref(specs);
	clv_kube_inventory_clear(&inventory);
	if (r < 0)
		return r;
	*ret = clv_kube_places_find(&claims->places, name);
	return *ret ? 0
		    : clv_error_set(
			      err, -ENODEV, "this node has no device %.80s now", name);
}

/* --- Slices --- */

static int find_server(struct clv_kube_claims *claims, struct clv_error *err)
{
	bool is_apart = false;
	int r = clv_kube_publish_separates_counters(claims->cluster, &is_apart, err);

	if (r < 0)
		return r;
	claims->server = (struct clv_kube_server){
		is_apart ? CLV_KUBE_COUNTERS_APART : CLV_KUBE_COUNTERS_BESIDE, true};
	claims->knows_server = true;
	return 0;
}

static int describe_and_publish(struct clv_kube_claims *claims,
	struct clv_kube_lease_sync *sync, const struct clv_kube_inventory *inventory,
	struct clv_kube_places *ret_all, unsigned *ret_lost, struct clv_error *err)
{
	json_t *specs = NULL;
	int r;

	clv_kube_places_clear(ret_all);
	*ret_lost = 0;
	r = describe(claims, sync, inventory, ret_all, &specs, err);
	if (r >= 0)
		r = clv_kube_publish(
			claims->cluster, &claims->settings, specs, ret_lost, err);
	if (r > 0)
		clv_log_info("published %zu slices", json_array_size(specs));
	json_decref(specs);
	return r;
}

/* Does without the fields that the API server drops. */
static void adapt(struct clv_kube_claims *claims, unsigned lost)
{
	if (lost & 1u << CLV_KUBE_GATED_COUNTERS) {
		clv_log_warning(0,
			"the API server drops the counters of devices: only partitions "
			"that exist can be claimed; enable DRAPartitionableDevices and "
			"restart cleave-kubelet");
		claims->server.counters = CLV_KUBE_COUNTERS_NONE;
	}
	if (lost & 1u << CLV_KUBE_GATED_TAINTS) {
		clv_log_info("the API server drops the taints of devices, so unhealthy "
			     "devices are left out; to have taints enable "
			     "DRADeviceTaints and restart cleave-kubelet");
		claims->server.has_taints = false;
	}
}

int clv_kube_claims_publish(struct clv_kube_claims *claims,
	struct clv_kube_lease_sync *sync, const struct clv_kube_inventory *inventory,
	struct clv_kube_places *ret_all, struct clv_error *err)
{
	struct clv_client *client;
	unsigned lost = 0;
	int r = clv_kube_lease_sync_client(sync, &client, err);

	if (r < 0)
		return r;
	clv_kube_claims_sweep(claims, sync, client);
	if (!claims->knows_server)
		r = find_server(claims, err);
	if (r >= 0)
		r = describe_and_publish(claims, sync, inventory, ret_all, &lost, err);
	/* Other slices may have other fields. */
	for (unsigned i = 0; r == -EOPNOTSUPP && lost != 0 && i < _CLV_KUBE_GATED_MAX;
		i++) {
		adapt(claims, lost);
		r = describe_and_publish(claims, sync, inventory, ret_all, &lost, err);
	}
	return r < 0 ? r : 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Makes kept leases in free standing shares and partitions. */
#include "bridge/cdi/reserve.h"

#include "base/units.h"

#include <cleave.h>
#include <ctype.h>
#include <errno.h>
#include <jansson.h>
#include <stdio.h>
#include <string.h>

#define NAME_MAX_BYTES 64
#define COMMAND "cleave cdi"

static const char *text_of(const json_t *object, const char *key)
{
	const char *text = json_string_value(json_object_get(object, key));

	return text ? text : "";
}

/* Makes a lease's name: "gpu0/1g.10gb@4" becomes "gpu0-1g.10gb-4". */
static void make_name(const char *of, char ret[NAME_MAX_BYTES])
{
	snprintf(ret, NAME_MAX_BYTES, "%s", of);
	for (char *p = ret; *p; p++) {
		if (!isalnum((unsigned char)*p) && !strchr("._-", *p))
			*p = '-';
	}
}

/* Returns 1, or 0 if another client has taken the place or the name. */
static int reserve(struct clv_client *client,
	const struct clv_client_lease_request *request, struct clv_client_error *err)
{
	struct clv_client_error why = {0};
	json_t *lease = NULL;
	int r = clv_client_lease_create(client, request, &lease, &why);

	json_decref(lease);
	if (r == 0)
		return 1;
	if (strcmp(why.code, "does_not_fit") == 0 || strcmp(why.code, "name_taken") == 0)
		return 0;
	if (err)
		*err = why;
	return r;
}

static int reserve_share(
	struct clv_client *client, const json_t *share, struct clv_client_error *err)
{
	const char *name = text_of(share, "name"), *slash = strrchr(name, '/');
	char own[NAME_MAX_BYTES];
	struct clv_client_lease_request request = {
		.name = own,
		.in = name,
		.keep = true,
		.admit = "socket",
		.command = COMMAND,
	};

	/* An agent of an older version has no in_use. */
	if (json_is_true(json_object_get(share, "in_use")) ||
		!json_is_null(json_object_get(share, "lease")))
		return 0;
	make_name(slash ? slash + 1 : name, own);
	return reserve(client, &request, err);
}

static int reserve_partition(
	struct clv_client *client, const json_t *device, struct clv_client_error *err)
{
	const char *name = text_of(device, "name");
	char own[NAME_MAX_BYTES];
	struct clv_client_lease_request request = {
		.name = own,
		.device = name,
		.share_ppm = CLV_PPM,
		.keep = true,
		.admit = "socket",
		.command = COMMAND,
	};

	/* A partition with standing shares is handed out through those. */
	if (!json_is_object(json_object_get(device, "partition")) ||
		json_number_value(json_object_get(device, "share_promised")) > 0)
		return 0;
	make_name(name, own);
	return reserve(client, &request, err);
}

typedef int (*list_fn)(
	struct clv_client *client, json_t **ret, struct clv_client_error *err);
typedef int (*reserve_fn)(
	struct clv_client *client, const json_t *item, struct clv_client_error *err);

static int reserve_each(struct clv_client *client, list_fn list, reserve_fn reserve_one,
	struct clv_client_error *err)
{
	json_t *answer = NULL;
	const json_t *item;
	int r = list(client, &answer, err), n_made = 0;
	size_t i;

	json_array_foreach (json_object_get(answer, "items"), i, item) {
		if (r >= 0)
			r = reserve_one(client, item, err);
		n_made += r > 0;
	}
	json_decref(answer);
	return r < 0 ? r : n_made;
}

int clv_cdi_reserve(struct clv_client *client, struct clv_client_error *err)
{
	int n_shares = reserve_each(client, clv_client_shares, reserve_share, err);
	int n_partitions = n_shares < 0 ? 0
					: reserve_each(client, clv_client_devices,
						  reserve_partition, err);

	if (n_shares < 0)
		return n_shares;
	return n_partitions < 0 ? n_partitions : n_shares + n_partitions;
}

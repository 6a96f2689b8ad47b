/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "core/share/share.h"
#include "service/service.h"

#include <jansson.h>
#include <stdbool.h>

struct clv_error;

/* The leases of a project's replicas: kept leases that any process of the container may
 * attach to, and the file that describes them to the engine as devices
 * (cleave.dev/service=NAME).  A lease has the name of its container. */

#define CLV_LEASES_KIND "cleave.dev/service"

struct clv_leases;

/* socket: the agent's; NULL: the one that clients find.  An agent that does not answer is
 * an error of the calls, not of this one. */
int clv_leases_new(const char *project, const char *socket, struct clv_leases **ret,
	struct clv_error *err);
struct clv_leases *clv_leases_free(struct clv_leases *leases);

enum clv_lease_result {
	CLV_LEASE_GIVEN,
	CLV_LEASE_QUEUED,  /* it waits for room */
	CLV_LEASE_NO_ROOM, /* *err says what is in the way */
	CLV_LEASE_REFUSED, /* it never fits, or the agent does not answer: *err */
	CLV_LEASE_UNKNOWN, /* of a lease that rests: the agent does not answer */
};

/* Gives a replica its lease; one of the name that exists is taken.  device: on this one;
 * NULL: as the service says.  may_wait: it may be queued. */
enum clv_lease_result clv_leases_give(struct clv_leases *leases,
	const struct clv_service *service, const char *name, const char *device,
	bool may_wait, struct clv_error *err);

/* Ends a lease, and the programs that are still in it.  One that is gone is no error. */
int clv_leases_end(struct clv_leases *leases, const char *name, struct clv_error *err);

/* What a lease of this device has, of a device with so much memory. */
int clv_leases_need(const struct clv_service_device *wanted, uint64_t device_bytes,
	struct clv_share *ret);

/* Gives the compute of a lease back, of which nothing computes now, and with shrinks what
 * its programs do not use of its memory.  One in a partition of its own keeps all. */
int clv_leases_rest(struct clv_leases *leases, const struct clv_service *service,
	const char *name, bool shrinks, struct clv_error *err);
/* Whether the lease has given its compute back; one that is gone has not.  Negative: the
 * agent does not say. */
int clv_leases_rests(struct clv_leases *leases, const char *name, struct clv_error *err);
/* Takes it again, on the device of the lease.  CLV_LEASE_NO_ROOM, also where the device
 * is not in the agent's list, and CLV_LEASE_UNKNOWN: another try may succeed.  Never
 * CLV_LEASE_QUEUED. */
enum clv_lease_result clv_leases_resume(struct clv_leases *leases,
	const struct clv_service *service, const char *name, struct clv_error *err);

/* Reads the agent's leases again; the other calls change no list. */
int clv_leases_look(struct clv_leases *leases, struct clv_error *err);
/* All leases and devices of the agent, lists.  The caller owns both. */
int clv_leases_survey(struct clv_leases *leases, json_t **ret_leases,
	json_t **ret_devices, struct clv_error *err);
/* Of the last look, by name; NULL: there is none.  Borrowed until the next look. */
const json_t *clv_leases_find(const struct clv_leases *leases, const char *name);
/* Whether the lease is of this process's user.  An administrator sees those of all, whose
 * names and commands are free texts. */
bool clv_leases_is_of_user(const json_t *lease);
/* The names of the project's leases of the last look, at most room. */
size_t clv_leases_names(
	const struct clv_leases *leases, const char **ret_names, size_t room);

/* Writes the file of devices for the leases of the last look. */
int clv_leases_describe(struct clv_leases *leases, struct clv_error *err);
/* Removes it. */
void clv_leases_forget(const struct clv_leases *leases);

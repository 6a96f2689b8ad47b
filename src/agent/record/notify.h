/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdbool.h>
#include <stddef.h>

struct clv_agent_device;
struct clv_error;
struct clv_lease;
struct clv_notify;

/* Publish and subscribe: how a room of the agent reports to rooms above it, which it does
 * not include.  Subscribers run at once, in the order in which they subscribed.  Loop
 * thread only. */

/* What a waiting request waits for. */
#define CLV_TOPIC_LEASES 1u
#define CLV_TOPIC_EVENTS 2u
#define CLV_TOPIC_DEVICES 4u
#define CLV_TOPIC_USERS 16u   /* the user database has answered */
#define CLV_TOPIC_HARDWARE 8u /* a survey was answered, an operation moved */
#define CLV_TOPIC_ACTIONS 32u /* an action was asked for, or its state has changed */

enum clv_notice_type {
	CLV_NOTICE_CHANGED,     /* topics: requests that wait for one of them run again */
	CLV_NOTICE_IN_USE,      /* a connection, lease or operation began: do not exit */
	CLV_NOTICE_STATUS,      /* the service manager's status line may be out of date */
	CLV_NOTICE_COMPUTES,    /* a process has begun to use its device */
	CLV_NOTICE_SURVEYED,    /* the drivers have answered a survey */
	CLV_NOTICE_RENUMBERED,  /* device numbers are known again */
	CLV_NOTICE_ROOM,        /* device: waiting leases may fit now */
	CLV_NOTICE_LEASE_LEFT,  /* lease: a process or a holder of it ended */
	CLV_NOTICE_LEASE_ENDED, /* lease: freed after the subscribers have run */
	CLV_NOTICE_NODE_READ,   /* the drivers have shown the node */
	CLV_NOTICE_PARTITION_MADE, /* name, turned_on: created for one lease */
	CLV_NOTICE_PARTITION_KEPT, /* name: this partition, or all of this device, is for
				      more than one lease from now on */
	_CLV_NOTICE_TYPE_MAX,
};

struct clv_notice {
	enum clv_notice_type type;
	unsigned int topics;
	struct clv_lease *lease;
	struct clv_agent_device *device;
	const char *name;
	bool turned_on; /* the device's MIG mode was turned on for it */
};

typedef void (*clv_notify_fn)(void *userdata, const struct clv_notice *notice);

int clv_notify_new(struct clv_notify **ret, struct clv_error *err);
struct clv_notify *clv_notify_free(struct clv_notify *notify);

/* The caller guarantees at most CLV_NOTIFY_SUBSCRIBERS for each type. */
#define CLV_NOTIFY_SUBSCRIBERS 4u
void clv_notify_subscribe(struct clv_notify *notify, enum clv_notice_type type,
	clv_notify_fn function, void *userdata);

/* Calls the subscribers of the notice's type.  The notice stays the caller's. */
void clv_notify_publish(struct clv_notify *notify, const struct clv_notice *notice);

static inline void clv_notify(struct clv_notify *notify, enum clv_notice_type type)
{
	clv_notify_publish(notify, &(struct clv_notice){.type = type});
}

static inline void clv_notify_changed(struct clv_notify *notify, unsigned int topics)
{
	clv_notify_publish(notify,
		&(struct clv_notice){.type = CLV_NOTICE_CHANGED, .topics = topics});
}

static inline void clv_notify_lease(
	struct clv_notify *notify, enum clv_notice_type type, struct clv_lease *lease)
{
	clv_notify_publish(notify, &(struct clv_notice){.type = type, .lease = lease});
}

static inline void clv_notify_admits(
	struct clv_notify *notify, struct clv_agent_device *device)
{
	clv_notify_publish(
		notify, &(struct clv_notice){.type = CLV_NOTICE_ROOM, .device = device});
}

/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stddef.h>
#include <stdint.h>

struct clv_error;

/* The settings of cleave-webhook, which describe the nodes of the cluster.  Plain data.
 */

#define CLV_WEBHOOK_NAME_MAX 254

/* Whether containers request share and memory together (`undivided` of the nodes). */
enum clv_webhook_pairs {
	CLV_WEBHOOK_PAIRS_ANY,      /* on some nodes: nothing is filled in or refused */
	CLV_WEBHOOK_PAIRS_REQUIRED, /* each container requests both */
	CLV_WEBHOOK_PAIRS_REFUSED,  /* each container requests one of them */
	_CLV_WEBHOOK_PAIRS_MAX,
};

#define CLV_WEBHOOK_CLASSES_MAX 32

/* The class of leases of the pods of a PriorityClass. */
struct clv_webhook_class {
	char priority[CLV_WEBHOOK_NAME_MAX];
	const char *name; /* static: "latency", "normal" or "batch" */
};

struct clv_webhook_settings {
	enum clv_webhook_pairs pairs;
	uint64_t unit_bytes;    /* of the resource of memory; 0: unknown */
	uint64_t device_bytes;  /* the memory of a device, the smallest; 0: unknown */
	uint64_t largest_bytes; /* of the largest; 0: unknown */
	char runtime_class[CLV_WEBHOOK_NAME_MAX]; /* for pods without one; "": none */
	char scheduler[CLV_WEBHOOK_NAME_MAX];     /* for those of the default one; "" */
	struct clv_webhook_class classes[CLV_WEBHOOK_CLASSES_MAX];
	size_t n_classes;
};

/* The static text of a class of leases, or NULL. */
const char *clv_webhook_class_find(const char *name);

/* Reads a file of settings.  On error err has the line and what is wrong. */
int clv_webhook_settings_read(
	const char *path, struct clv_webhook_settings *ret, struct clv_error *err);

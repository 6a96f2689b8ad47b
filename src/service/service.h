/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/yaml.h"
#include "core/device/node.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct clv_error;

/* Services of a compose file.  What cleave does not carry out is an error with line and
 * column, or, where the services run without it, a remark.
 *
 * Texts are borrowed from the file and live as long as struct clv_services.  For one
 * thread at a time. */

#define CLV_SERVICE_NAME_MAX 48 /* so that a lease's name holds project and service */
#define CLV_SERVICE_REPLICAS_MAX 64u
#define CLV_SERVICES_MAX 64u

/* The variables of ${NAME}. */
struct clv_variables {
	/* The value of a variable, or NULL if it is not set.  Borrowed until the next
	 * call. */
	const char *(*get)(void *userdata, const char *name);
	void *userdata;
};

struct clv_service_texts {
	const char **items;
	size_t n;
};

/* A variable of a container. */
struct clv_service_variable {
	const char *name, *value;
};

struct clv_service_env_file {
	const char *path; /* absolute, or from the file's folder */
	bool is_required;
};

struct clv_service_port {
	const char *host_ip; /* NULL: all addresses */
	uint16_t published, target;
	bool is_http; /* else TCP */
};

struct clv_service_volume {
	const char *source; /* a path, a named volume, or NULL: an anonymous volume */
	const char *target;
	bool is_path; /* source is a path */
	bool is_read_only;
};

enum clv_service_condition {
	CLV_SERVICE_STARTED,
	CLV_SERVICE_HEALTHY,
	CLV_SERVICE_COMPLETED, /* ended with exit code 0 */
	_CLV_SERVICE_CONDITION_MAX,
};

struct clv_service_dependency {
	const char *name;
	enum clv_service_condition condition;
	bool is_optional; /* its service may be missing */
	struct clv_yaml_value place;
	size_t service; /* its index, after clv_services_read() */
};

/* A test of the container's own. */
struct clv_service_health {
	struct clv_service_texts test; /* none: no test */
	uint64_t interval_ns, timeout_ns, start_period_ns;
	uint32_t n_retries;
};

enum clv_service_restart {
	CLV_SERVICE_RESTART_ALWAYS, /* also unless-stopped: `cleave down` stops it */
	CLV_SERVICE_RESTART_ON_FAILURE,
	CLV_SERVICE_RESTART_NEVER,
	_CLV_SERVICE_RESTART_MAX,
};

/* The lease of each replica. */
struct clv_service_device {
	bool is_given; /* else a replica has no lease */
	bool is_none;  /* also where the top of the file gives one */
	uint32_t share_ppm, share_most_ppm;
	uint64_t memory_bytes;
	char class_name[16];
	char profile[CLV_PROFILE_NAME_MAX];
	char isolation[16];
	char device[64];
};

enum clv_service_sleep {
	CLV_SERVICE_SLEEP_STOPPED, /* its containers are removed */
	CLV_SERVICE_SLEEP_FROZEN,  /* they stay, with their memory, and compute nothing */
	_CLV_SERVICE_SLEEP_MAX,
};

struct clv_service_scaling {
	uint32_t min_replicas, max_replicas;
	uint32_t idle_ppm; /* of the promised compute: below it a service is idle */
	uint32_t over_ppm; /* from it on it is overutilized; above idle_ppm */
	uint64_t idle_ns, over_ns; /* for how long, before the number changes */
	bool stops;                /* an idle service stops, a request starts it */
	uint32_t n_kept;           /* replicas that an idle service keeps */
	uint16_t target_port;      /* whose requests start it; 0: the first port */
	uint64_t wake_timeout_ns;  /* how long the first request waits at most */
	enum clv_service_sleep sleep;
	bool shrinks; /* frozen, its quota of memory is what it uses */
};

struct clv_service_limits {
	uint32_t cpu_millis; /* 0: no limit */
	uint64_t memory_bytes;
	uint32_t n_pids;
};

struct clv_service {
	char name[CLV_SERVICE_NAME_MAX];
	struct clv_services *file;
	struct clv_yaml_value place;
	const char *image;
	struct clv_service_texts command, entrypoint;
	bool has_command, has_entrypoint; /* set, even if empty */
	struct clv_service_variable *variables;
	size_t n_variables;
	struct clv_service_env_file *env_files;
	size_t n_env_files;
	struct clv_service_port *ports;
	size_t n_ports;
	struct clv_service_volume *volumes;
	size_t n_volumes;
	struct clv_service_dependency *dependencies;
	size_t n_dependencies;
	struct clv_service_health health;
	enum clv_service_restart restart;
	uint32_t n_restarts; /* of on-failure; 0: no bound */
	uint32_t n_replicas;
	struct clv_service_limits limits, reservations;
	const char *user, *working_dir, *platform, *stop_signal; /* NULL: the image's */
	uint64_t stop_grace_ns;
	bool has_init;
	bool stops_first; /* an update stops a replica before it starts the next */
	struct clv_service_device device;
	struct clv_service_scaling scaling;
	struct clv_yaml_value autoscaling; /* the place of its keys; yaml NULL: none */
	uint64_t generation;               /* a hash of what its containers are made of */
};

struct clv_service_remark {
	char text[512]; /* "FILE:LINE:COLUMN: what is left out, and why" */
};

struct clv_services {
	char project[CLV_SERVICE_NAME_MAX]; /* `name`, or the caller's */
	struct clv_service *items;
	size_t n;
	size_t *order; /* indexes of the services, each after its dependencies */
	struct clv_service_texts volumes; /* the named ones */
	struct clv_service_remark *remarks;
	size_t n_remarks;
	/* Inside. */
	struct clv_yaml *document;
	const struct clv_variables *variables;
	char **owned;
	size_t n_owned;
};

/* Reads a document, which ret owns from then on, also after an error.  project: the name
 * if the file has none; NULL: the file has to have one.  -EINVAL or -ERANGE with line and
 * column; ret is cleared then. */
int clv_services_read(struct clv_yaml *document, const char *project,
	const struct clv_variables *variables, struct clv_services *ret,
	struct clv_error *err);
void clv_services_clear(struct clv_services *services);

/* NULL if there is no such service. */
const struct clv_service *clv_services_find(
	const struct clv_services *services, const char *name);

const char *clv_service_condition_to_string(enum clv_service_condition condition);

/* Makes a project's name of any text, as Compose does: lower-case letters, digits, '-'
 * and '_', beginning with a letter or digit.  Returns false if nothing is left. */
bool clv_service_project_name(const char *text, char ret[CLV_SERVICE_NAME_MAX]);

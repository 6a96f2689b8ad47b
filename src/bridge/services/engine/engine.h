/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/paths.h"
#include "bridge/services/engine/freezer.h"
#include "service/service.h"

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

struct clv_error;

/* The container engine: podman's command line, as users have configured it.  cleave runs
 * no container itself. */

#define CLV_ENGINE_NAME_MAX 128
#define CLV_ENGINE_LABEL "dev.cleave."

/* Words of a command.  The caller frees them with clv_engine_free(). */
typedef char **clv_argv;
clv_argv clv_engine_free(clv_argv argv);

/* A container that is to run. */
struct clv_engine_container {
	const struct clv_service *service;
	const char *name;
	unsigned slot;
	const char *device; /* of CDI: "cleave.dev/service=NAME"; NULL: none */
	const char *folder; /* of relative paths */
	/* A file that clv_engine_write_environment() has written. */
	const char *environment;
	const char *network; /* NULL: the engine's default */
	/* Lines "ADDRESS NAME" of the services that it can look up. */
	const char *names;
};

/* The network of a project, CLV_ENGINE_NETWORK with its name, is made if it does not
 * exist.  Waits for the engine. */
#define CLV_ENGINE_NETWORK "cleave-"
int clv_engine_make_network(const char *project, struct clv_error *err);
/* A network of that name which is not the project's stays. */
int clv_engine_remove_network(const char *project, struct clv_error *err);

/* Writes the service's variables to the file, those of its env_file first.  Only its
 * owner reads it: all users of the machine can read a command line. */
int clv_engine_write_environment(
	const struct clv_engine_container *container, struct clv_error *err);

/* Commands; NULL: out of memory. */
/* Fails if the network exists. */
clv_argv clv_engine_create_network(const char *project);
clv_argv clv_engine_run(const struct clv_engine_container *container);
clv_argv clv_engine_inspect(const char *name);
/* Stops and removes the project's container of this name; another one stays. */
clv_argv clv_engine_stop(const char *project, const char *name, uint64_t grace_ns);
clv_argv clv_engine_exec(const char *name, const struct clv_service_texts *program);
/* Its last line, with what is written to standard error, within 5 s. */
clv_argv clv_engine_last_line(const char *name);

/* What the output of clv_engine_inspect() says. */
struct clv_engine_state {
	char id[CLV_ENGINE_ID_MAX];
	bool is_running; /* also paused */
	bool is_paused;  /* by a user */
	pid_t pid;
	int exit_code;
	char address[64]; /* where its ports are; "" : it has none */
	/* The file that is its /etc/hosts; "": none that may be changed. */
	char hosts[CLV_PATH_MAX];
};
int clv_engine_read_state(
	const char *output, struct clv_engine_state *ret, struct clv_error *err);

/* Gives the names of a project's services, lines "ADDRESS NAME", to a container that
 * runs: other lines of the file stay.  is_service says whether a name is a service's. */
int clv_engine_write_names(const char *hosts, const char *names,
	bool (*is_service)(void *userdata, const char *name), void *userdata,
	struct clv_error *err);

/* A container of a project that exists. */
struct clv_engine_found {
	char name[CLV_ENGINE_NAME_MAX];
	char id[CLV_ENGINE_ID_MAX];
	pid_t pid;
	char service[CLV_SERVICE_NAME_MAX];
	uint64_t generation;
	unsigned slot;
	bool is_running;
};

/* Asks podman for a project's containers, and waits for the answer.  The caller frees
 * *ret. */
int clv_engine_list(const char *project, struct clv_engine_found **ret, size_t *ret_n,
	struct clv_error *err);

/* Removes a container, running, frozen or not, and waits. */
int clv_engine_remove(
	const char *project, const struct clv_engine_found *found, struct clv_error *err);

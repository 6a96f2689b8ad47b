/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "base/paths.h"
#include "service/service.h"

#include <jansson.h>

struct clv_error;

/* A project: the services of one compose file, and the folder with what their supervisor
 * needs to find them again.  kept.json is {"file", "folder", "variables", "text"}: the
 * file as it was given to `cleave up`, where it was, and the variables that it uses, by
 * which it is read again; previous.json is that of the generation before. state.json is
 * what the supervisor keeps for the next one (supervisor/state.c), control.sock is the
 * supervisor's (control.h), events.jsonl has its decisions, an object on each line, and
 * it holds lock.  SERVICE.cfg, SERVICE.sock, SERVICE.pid and 503.http are the proxies'.
 */

#define CLV_PROJECT_ENV "CLEAVE_SERVICES_DIR"
#define CLV_PROJECT_STATE "state.json"
#define CLV_PROJECT_KEPT "kept.json"
/* podman before 5.0 takes them for more than a part of a file's path. */
#define CLV_PROJECT_PATH_REFUSED ",\"\n"
/* One `cleave up` at a time; the end of the project takes it, too. */
#define CLV_PROJECT_UP_LOCK "up.lock"

/* The command of a replica's lease: this, and the project. */
#define CLV_SERVICES_COMMAND "cleave up "

struct clv_project {
	char name[CLV_SERVICE_NAME_MAX];
	char folder[CLV_PATH_MAX / 2];
	char origin[CLV_PATH_MAX / 2]; /* the folder of relative paths in the file */
	char file[CLV_PATH_MAX];       /* where the file was */
	json_t *variables;             /* by name; null: unset */
	char *text;                    /* of the file */
};

/* The folder of all projects: CLEAVE_SERVICES_DIR, for root /var/lib/cleave/services,
 * else cleave/services in the user's state folder. */
int clv_projects_folder(char ret[CLV_PATH_MAX / 2], struct clv_error *err);

/* All projects that `cleave up` has kept; the caller frees *ret. */
int clv_projects_read(struct clv_project **ret, size_t *ret_n, struct clv_error *err);

/* Sets name and folder; the folder need not exist. */
int clv_project_find(const char *name, struct clv_project *ret, struct clv_error *err);

/* A path in the project's folder. */
void clv_project_path(
	const struct clv_project *project, const char *name, char ret[CLV_PATH_MAX]);

/* Reads the kept file.  -ENOENT: there is none. */
int clv_project_load(
	struct clv_project *project, struct clv_services *ret, struct clv_error *err);
/* The same for the generation before. */
int clv_project_load_previous(
	struct clv_project *project, struct clv_services *ret, struct clv_error *err);

/* Keeps text, file, origin and variables; what was kept becomes the generation before,
 * unless it was given up. */
int clv_project_keep(struct clv_project *project, struct clv_error *err);
/* Whether `cleave down` has begun, also where its supervisor was killed since. */
bool clv_project_is_ending(const struct clv_project *project);
/* Removes the folder with all that is in it. */
int clv_project_remove(const struct clv_project *project, struct clv_error *err);

/* Releases what the project owns. */
void clv_project_clear(struct clv_project *project);

/* Variables that are looked up in the environment, then in a text of lines NAME=VALUE
 * (.env), and recorded in project->variables. */
struct clv_project_variables {
	struct clv_variables variables; /* for clv_services_read() */
	struct clv_project *project;
	json_t *dotenv; /* of the file .env, or NULL */
};
void clv_project_record(struct clv_project_variables *ret, struct clv_project *project,
	const char *dotenv);
void clv_project_end_record(struct clv_project_variables *variables);

/* SPDX-License-Identifier: Apache-2.0 */
/* The folder of a project.  A file is replaced as a whole, so that a supervisor that is
 * killed at any point finds a complete one. */
#include "bridge/services/project/project.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"

#include <ctype.h>
#include <dirent.h>
#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#define PREVIOUS "previous.json"
/* JSON may need six bytes for one of the file's. */
#define KEPT_MAX_BYTES (8u * CLV_YAML_MAX_BYTES)

int clv_projects_folder(char ret[CLV_PATH_MAX / 2], struct clv_error *err)
{
	const char *chosen = getenv(CLV_PROJECT_ENV);
	char state[CLV_PATH_MAX / 2 - 16] = CLV_PATH_SYSTEM_STATE;
	int r = 0;

	if (chosen && chosen[0]) {
		snprintf(ret, CLV_PATH_MAX / 2, "%s", chosen);
		return 0;
	}
	if (geteuid() != 0)
		r = clv_path_user_state(true, state, sizeof(state), err);
	snprintf(ret, CLV_PATH_MAX / 2, "%s/services", state);
	return r;
}

int clv_project_find(const char *name, struct clv_project *ret, struct clv_error *err)
{
	char folder[CLV_PATH_MAX / 2], made[CLV_SERVICE_NAME_MAX];
	int r = clv_projects_folder(folder, err);

	if (r < 0)
		return r;
	if (!clv_service_project_name(name, made) || strcmp(made, name) != 0)
		return clv_error_set(err, -EINVAL,
			"'%.60s' is no name of a project: lower-case letters, digits, "
			"'_' "
			"and '-', at most %d of them",
			name, CLV_SERVICE_NAME_MAX - 1);
	strcpy(ret->name, made);
	snprintf(ret->folder, sizeof(ret->folder), "%s/%s", folder, made);
	return 0;
}

int clv_projects_read(struct clv_project **ret, size_t *ret_n, struct clv_error *err)
{
	char path[CLV_PATH_MAX / 2];
	struct clv_project *items = NULL;
	size_t n = 0;
	int r = clv_projects_folder(path, err);
	DIR *folder = r < 0 ? NULL : opendir(path);

	for (struct dirent *entry; folder && (entry = readdir(folder));) {
		struct clv_project found = {}, *place;

		if (entry->d_name[0] == '.' ||
			clv_project_find(entry->d_name, &found, NULL) < 0)
			continue;
		place = CLV_APPEND(items, n);
		if (place)
			*place = found;
	}
	if (folder)
		closedir(folder);
	*ret = items;
	*ret_n = n;
	return r;
}

void clv_project_path(
	const struct clv_project *project, const char *name, char ret[CLV_PATH_MAX])
{
	snprintf(ret, CLV_PATH_MAX, "%s/%s", project->folder, name);
}

/* --- Variables --- */

static const char *get_recorded(void *userdata, const char *name)
{
	return json_string_value(json_object_get(userdata, name));
}

static const char *get_and_record(void *userdata, const char *name)
{
	struct clv_project_variables *v = userdata;
	const char *value = getenv(name);

	if (!value)
		value = json_string_value(json_object_get(v->dotenv, name));
	json_object_set_new(
		v->project->variables, name, value ? json_string(value) : json_null());
	return value;
}

/* A line of .env: NAME=VALUE, with quotes around the value or not. */
static void read_line(json_t *into, char *line)
{
	char *equal = strchr(line, '='), *value;
	size_t n;

	while (isspace((unsigned char)*line))
		line++;
	if (!equal || *line == '#')
		return;
	*equal = '\0';
	if (strncmp(line, "export ", 7) == 0)
		line += 7;
	value = equal + 1;
	n = strlen(value);
	while (n > 0 && isspace((unsigned char)value[n - 1]))
		value[--n] = '\0';
	if (n >= 2 && (value[0] == '"' || value[0] == '\'') && value[n - 1] == value[0]) {
		value[n - 1] = '\0';
		value++;
	}
	json_object_set_new(into, line, json_string(value));
}

static json_t *read_dotenv(const char *text)
{
	_cleanup_free_ char *copy = text ? strdup(text) : NULL;
	json_t *made = json_object();
	char *rest = copy, *line;

	while (rest && (line = strsep(&rest, "\n")))
		read_line(made, line);
	return made;
}

void clv_project_record(struct clv_project_variables *ret, struct clv_project *project,
	const char *dotenv)
{
	if (!project->variables)
		project->variables = json_object();
	ret->project = project;
	ret->dotenv = read_dotenv(dotenv);
	ret->variables = (struct clv_variables){get_and_record, ret};
}

void clv_project_end_record(struct clv_project_variables *variables)
{
	json_decref(variables->dotenv);
	variables->dotenv = NULL;
}

/* --- The kept file --- */

static int read_kept(const struct clv_project *project, const char *name, json_t **ret,
	struct clv_error *err)
{
	char path[CLV_PATH_MAX];
	_cleanup_free_ char *text = NULL;
	json_error_t why;
	int r;

	clv_project_path(project, name, path);
	r = clv_file_read_all(path, KEPT_MAX_BYTES, &text, NULL, err);
	if (r < 0)
		return r;
	*ret = json_loads(text, 0, &why);
	return *ret ? 0
		    : clv_error_set(
			      err, -EINVAL, "%s cannot be read: %s", path, why.text);
}

static int take_kept(struct clv_project *project, const json_t *kept, const char *name,
	struct clv_error *err)
{
	const char *file = json_string_value(json_object_get(kept, "file"));
	const char *folder = json_string_value(json_object_get(kept, "folder"));
	const char *text = json_string_value(json_object_get(kept, "text"));
	json_t *variables = json_object_get(kept, "variables");

	if (!file || !folder || !text || !json_is_object(variables))
		return clv_error_set(err, -EINVAL,
			"%s/%s cannot be read: members are missing", project->folder,
			name);
	snprintf(project->file, sizeof(project->file), "%s", file);
	snprintf(project->origin, sizeof(project->origin), "%s", folder);
	json_decref(project->variables);
	project->variables = json_incref(variables);
	free(project->text);
	project->text = strdup(text);
	return project->text ? 0 : clv_error_errno(err, ENOMEM, "cannot read the file");
}

static int load(struct clv_project *project, const char *name, struct clv_services *ret,
	struct clv_error *err)
{
	struct clv_variables variables;
	struct clv_yaml *document;
	json_t *kept = NULL;
	int r = read_kept(project, name, &kept, err);

	if (r >= 0)
		r = take_kept(project, kept, name, err);
	json_decref(kept);
	if (r >= 0)
		r = clv_yaml_parse(project->text, strlen(project->text), project->file,
			&document, err);
	if (r < 0)
		return r;
	variables = (struct clv_variables){get_recorded, project->variables};
	r = clv_services_read(document, project->name, &variables, ret, err);
	/* The variables are needed while the file is read only. */
	ret->variables = NULL;
	if (r >= 0)
		strcpy(ret->project, project->name);
	return r;
}

int clv_project_load(
	struct clv_project *project, struct clv_services *ret, struct clv_error *err)
{
	return load(project, CLV_PROJECT_KEPT, ret, err);
}

int clv_project_load_previous(
	struct clv_project *project, struct clv_services *ret, struct clv_error *err)
{
	return load(project, PREVIOUS, ret, err);
}

/* Whether an update to the kept file was undone. */
static bool is_given_up(const struct clv_project *project)
{
	char path[CLV_PATH_MAX];
	json_t *state, *service;
	const char *name;
	bool found = false;

	clv_project_path(project, CLV_PROJECT_STATE, path);
	state = json_load_file(path, 0, NULL);
	json_object_foreach (json_object_get(state, "services"), name, service)
		found = found || json_object_get(service, "undone");
	json_decref(state);
	return found;
}

/* The caller frees it; NULL: out of memory, or a path is no UTF-8. */
static char *write_kept(const struct clv_project *project)
{
	json_t *made = json_pack("{s:s, s:s, s:O, s:s}", "file", project->file, "folder",
		project->origin, "variables", project->variables, "text", project->text);
	char *text = made ? json_dumps(made, JSON_INDENT(2)) : NULL;

	json_decref(made);
	return text;
}

int clv_project_keep(struct clv_project *project, struct clv_error *err)
{
	_cleanup_free_ char *text = write_kept(project), *before = NULL;
	char path[CLV_PATH_MAX], previous[CLV_PATH_MAX];
	int r = clv_path_make(project->folder, 0700, err);

	if (r >= 0 && !text)
		r = clv_error_set(err, -EINVAL,
			"cannot keep the file: its path or text is no UTF-8: %s",
			project->origin);
	if (r < 0)
		return r;
	clv_project_path(project, CLV_PROJECT_KEPT, path);
	clv_project_path(project, PREVIOUS, previous);
	clv_file_read_all(path, KEPT_MAX_BYTES, &before, NULL, NULL);
	/* Once more the same, perhaps in the middle of the update to it. */
	if (before && strcmp(before, text) == 0)
		return 0;
	if (before && !is_given_up(project))
		r = clv_file_replace(previous, before, err);
	return r < 0 ? r : clv_file_replace(path, text, err);
}

static int remove_folder(const char *path, struct clv_error *err)
{
	DIR *folder = opendir(path);
	int r = 0;

	if (!folder)
		return errno == ENOENT
			       ? 0
			       : clv_error_errno(err, errno, "cannot open %s", path);
	for (struct dirent *entry; r >= 0 && (entry = readdir(folder));) {
		char inner[CLV_PATH_MAX];

		if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0)
			continue;
		snprintf(inner, sizeof(inner), "%s/%s", path, entry->d_name);
		if (unlink(inner) == 0)
			continue;
		r = errno == EISDIR || errno == EPERM
			    ? remove_folder(inner, err)
			    : clv_error_errno(err, errno, "cannot remove %s", inner);
	}
	closedir(folder);
	if (r >= 0 && rmdir(path) < 0)
		r = clv_error_errno(err, errno, "cannot remove %s", path);
	return r;
}

/* Renamed first: a project of this name that starts meanwhile has a folder of its own. */
int clv_project_remove(const struct clv_project *project, struct clv_error *err)
{
	const char *slash = strrchr(project->folder, '/');
	char away[CLV_PATH_MAX];
	int r;

	snprintf(away, sizeof(away), "%.*s/.%s", (int)(slash - project->folder),
		project->folder, project->name);
	r = remove_folder(away, err);
	if (r < 0)
		return r;
	if (rename(project->folder, away) < 0)
		return errno == ENOENT ? 0
				       : clv_error_errno(err, errno, "cannot remove %s",
						 project->folder);
	return remove_folder(away, err);
}

bool clv_project_is_ending(const struct clv_project *project)
{
	char path[CLV_PATH_MAX];
	json_t *state;
	bool is_ending;

	clv_project_path(project, CLV_PROJECT_STATE, path);
	state = json_load_file(path, 0, NULL);
	is_ending = json_is_true(json_object_get(state, "ending"));
	json_decref(state);
	return is_ending;
}

void clv_project_clear(struct clv_project *project)
{
	json_decref(project->variables);
	free(project->text);
	project->variables = NULL;
	project->text = NULL;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Reads a compose file and what belongs to it. */
#include "cli/services/compose-file.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"
#include "cli/frame/cli.h"
#include "cli/frame/input.h"
#include "cli/frame/output.h"

#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define DOTENV_MAX_BYTES (1u << 20)

/* The file's folder and the file in it; the present folder for standard input. */
static int find_origin(const char *path, struct clv_project *project)
{
	bool is_stdin = strcmp(path, "-") == 0;
	char real[PATH_MAX], *slash;

	if (!realpath(is_stdin ? "." : path, real))
		return clv_cli_fail(CLV_EXIT_NO_INPUT, "cannot read %s: %m", path);
	snprintf(project->file, sizeof(project->file), "%s", is_stdin ? "stdin" : path);
	slash = strrchr(real, '/');
	if (!is_stdin && slash)
		*slash = '\0';
	if (strlen(real) >= sizeof(project->origin))
		return clv_cli_fail(
			CLV_EXIT_NO_INPUT, "the path of %s is too long", path);
	strcpy(project->origin, real[0] ? real : "/");
	return 0;
}

/* As Compose names a project that has no name. */
static void name_after_folder(const char *folder, char ret[CLV_SERVICE_NAME_MAX])
{
	const char *slash = strrchr(folder, '/');

	if (!clv_service_project_name(slash ? slash + 1 : folder, ret))
		strcpy(ret, "default");
}

static int read_services(struct clv_compose_file *file, const char *name)
{
	struct clv_project *project = &file->project;
	_cleanup_free_ char *dotenv = NULL;
	char path[CLV_PATH_MAX], of_folder[CLV_SERVICE_NAME_MAX];
	struct clv_project_variables variables;
	struct clv_yaml *document;
	struct clv_error err;
	int r;

	snprintf(path, sizeof(path), "%s/.env", project->origin);
	clv_file_read_regular(path, DOTENV_MAX_BYTES, &dotenv, NULL, NULL);
	name_after_folder(project->origin, of_folder);
	r = clv_yaml_parse(
		project->text, strlen(project->text), project->file, &document, &err);
	if (r >= 0) {
		clv_project_record(&variables, project, dotenv);
		r = clv_services_read(
			document, of_folder, &variables.variables, &file->services, &err);
		clv_project_end_record(&variables);
	}
	if (r < 0)
		return clv_cli_fail(CLV_EXIT_BAD_FILE, "%s", err.msg);
	if (name)
		strcpy(file->services.project, name);
	return 0;
}

int clv_compose_file_read(
	const char *path, const char *name, struct clv_compose_file *ret)
{
	char checked[CLV_SERVICE_NAME_MAX];
	_cleanup_input_ struct clv_input input = {};
	int r;

	*ret = (struct clv_compose_file){0};
	if (name &&
		(!clv_service_project_name(name, checked) || strcmp(name, checked) != 0))
		return clv_cli_fail(CLV_EXIT_USAGE,
			"--project: '%.60s' is no name of a project: lower-case letters, "
			"digits, '_' and '-', at most %d of them",
			name, CLV_SERVICE_NAME_MAX - 1);
	r = clv_input_read(path, CLV_YAML_MAX_BYTES, &input);
	if (r)
		return r;
	ret->project.text = CLV_TAKE(input.text);
	r = find_origin(path, &ret->project);
	if (!r)
		r = read_services(ret, name);
	if (!r)
		clv_compose_file_print_remarks(ret, 0);
	return r;
}

void clv_compose_file_clear(struct clv_compose_file *file)
{
	clv_services_clear(&file->services);
	clv_project_clear(&file->project);
}

void clv_compose_file_print_remarks(const struct clv_compose_file *file, size_t n)
{
	for (; n < file->services.n_remarks; n++)
		clv_output_line(stderr, "%s", file->services.remarks[n].text);
}

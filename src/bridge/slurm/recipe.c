/* SPDX-License-Identifier: Apache-2.0 */
/* The text format of recipes: a head line, then lines of words separated by tabs. */
#include "bridge/slurm/recipe.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"
#include "base/paths.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#define HEAD "cleave-slurm 1"
#define RECIPE_MAX_BYTES (256u << 10)

#define NO_LEASE "-"

static const char *const kinds[_CLV_SLURM_STEP_MAX] = {
	[CLV_SLURM_SET] = "set",
	[CLV_SLURM_DEFAULT] = "default",
	[CLV_SLURM_FIRST] = "first",
	[CLV_SLURM_CPUS] = "cpus",
	[CLV_SLURM_BIND] = "bind",
};

int clv_slurm_recipe_add(struct clv_slurm_recipe *recipe, enum clv_slurm_step_kind kind,
	const char *what, const char *value)
{
	struct clv_slurm_step *grown, *step;

	if (strpbrk(what, "\t\n") || strpbrk(value, "\t\n"))
		return -EINVAL;
	grown = realloc(recipe->steps, (recipe->n_steps + 1) * sizeof(*grown));
	if (!grown)
		return -ENOMEM;
	recipe->steps = grown;
	step = &grown[recipe->n_steps];
	*step = (struct clv_slurm_step){kind, strdup(what), strdup(value)};
	recipe->n_steps++;
	return step->what && step->value ? 0 : -ENOMEM;
}

int clv_slurm_recipe_write(const struct clv_slurm_recipe *recipe, char **ret)
{
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	if (!out)
		return -ENOMEM;
	fprintf(out, HEAD "\nlease\t%s\nasked\t%s\nrestarts\t%u\n",
		recipe->lease[0] ? recipe->lease : NO_LEASE, recipe->asked,
		recipe->restarts);
	for (size_t i = 0; i < recipe->n_steps; i++)
		fprintf(out, "%s\t%s\t%s\n", kinds[recipe->steps[i].kind],
			recipe->steps[i].what, recipe->steps[i].value);
	if (fclose(out) != 0) {
		free(text);
		return -ENOMEM;
	}
	*ret = text;
	return 0;
}

static int read_step(
	struct clv_slurm_recipe *recipe, const char *word, const char *what, char *value)
{
	for (int i = 0; i < _CLV_SLURM_STEP_MAX; i++) {
		if (strcmp(word, kinds[i]) == 0)
			return clv_slurm_recipe_add(recipe, i, what, value ? value : "");
	}
	return -EBADMSG;
}

static int read_line(struct clv_slurm_recipe *recipe, char *line)
{
	char *rest = line, *word = strsep(&rest, "\t"), *what = strsep(&rest, "\t");

	if (!what)
		return -EBADMSG;
	if (strcmp(word, "lease") == 0)
		snprintf(recipe->lease, sizeof(recipe->lease), "%s", what);
	else if (strcmp(word, "asked") == 0)
		snprintf(recipe->asked, sizeof(recipe->asked), "%s", what);
	else if (strcmp(word, "restarts") == 0)
		recipe->restarts = (unsigned int)strtoul(what, NULL, 10);
	else
		return read_step(recipe, word, what, rest);
	return 0;
}

int clv_slurm_recipe_parse(
	char *text, struct clv_slurm_recipe *ret, struct clv_error *err)
{
	struct clv_slurm_recipe recipe = {};
	char *line = strsep(&text, "\n");
	int r = line && strcmp(line, HEAD) == 0 ? 0 : -EBADMSG;

	while (r == 0 && (line = strsep(&text, "\n"))) {
		if (line[0])
			r = read_line(&recipe, line);
	}
	if (r == 0 && recipe.lease[0]) {
		if (strcmp(recipe.lease, NO_LEASE) == 0)
			recipe.lease[0] = '\0';
		*ret = recipe;
		return 0;
	}
	clv_slurm_recipe_clear(&recipe);
	return clv_error_set(err, r ? r : -EBADMSG,
		"the recipe of the job's lease cannot be read: was it written by another "
		"release? New jobs are not affected");
}

int clv_slurm_recipe_load(const char *state, unsigned int job,
	struct clv_slurm_recipe *ret, struct clv_error *err)
{
	_cleanup_free_ char *text = NULL;
	char path[CLV_PATH_MAX];
	int r;

	snprintf(path, sizeof(path), "%s/%u/" CLV_SLURM_RECIPE, state, job);
	r = clv_file_read_all(path, RECIPE_MAX_BYTES, &text, NULL, err);
	return r < 0 ? r : clv_slurm_recipe_parse(text, ret, err);
}

void clv_slurm_recipe_clear(struct clv_slurm_recipe *recipe)
{
	for (size_t i = 0; i < recipe->n_steps; i++) {
		free(recipe->steps[i].what);
		free(recipe->steps[i].value);
	}
	free(recipe->steps);
	*recipe = (struct clv_slurm_recipe){};
}

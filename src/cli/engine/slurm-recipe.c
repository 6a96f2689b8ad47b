/* SPDX-License-Identifier: Apache-2.0 */
/* Makes the recipe by which a job's tasks enter its lease.  Slurm starts the tasks as any
 * user with any environment; this code runs once per job and node, as root, and ignores
 * the user's environment: the drivers are those that the node's loader finds.  If a
 * task's environment names other drivers, OPENCL_LAYERS and LD_PRELOAD still load the
 * gate. */
#include "cli/engine/slurm-recipe.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/file.h"
#include "base/paths.h"
#include "bridge/slurm/recipe.h"
#include "cli/frame/cli.h"
#include "cli/launch/namespace.h"
#include "cli/launch/preloads.h"
#include "cli/launch/program.h"
#include "cli/launch/visible.h"

#include <errno.h>
#include <glob.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

/* The variables that clv_visible_set() and clv_visible_limit() may set. */
static const char *const visible[] = {"CUDA_VISIBLE_DEVICES", "ROCR_VISIBLE_DEVICES",
	"ZE_AFFINITY_MASK", "ZE_ENABLE_PCI_ID_DEVICE_ORDER", "CLEAVE_VISIBLE",
	"HSA_CU_MASK", "POCL_MAX_PTHREAD_COUNT"};

/* Variables of the caller, which must not affect the job. */
static const char *const foreign[] = {"OCL_ICD_VENDORS", "OPENCL_VENDOR_PATH",
	"LD_LIBRARY_PATH", "LD_PRELOAD", "POCL_AFFINITY"};

struct filling {
	struct clv_slurm_recipe *recipe;
	int r;
};

static void add(struct filling *f, enum clv_slurm_step_kind kind, const char *what,
	const char *value)
{
	if (f->r == 0)
		f->r = clv_slurm_recipe_add(f->recipe, kind, what, value);
}

static void add_bind(void *userdata, const char *from, const char *to)
{
	add(userdata, CLV_SLURM_BIND, to, from);
}

static void add_opencl(struct filling *f, const char *socket, const char *gate_path)
{
	add(f, CLV_SLURM_SET, "CLEAVE_LEASE", socket);
	add(f, CLV_SLURM_SET, "CLEAVE_IF_NO_AGENT", "closed");
	add(f, CLV_SLURM_FIRST, "OPENCL_LAYERS", gate_path);
	add(f, CLV_SLURM_FIRST, "OCL_ICD_LAYERS", gate_path);
}

static int add_gates(struct filling *f, const json_t *lease, const char *folder,
	const char *gate_path, struct clv_error *err)
{
	const struct clv_preload *gate =
		clv_preload_of(json_object_get(lease, "devices"));
	char path[CLV_PATH_MAX + 32];

	add_opencl(f, clv_json_text(lease, "socket"), gate_path);
	if (!gate)
		return 0;
	snprintf(path, sizeof(path), "%s/%s", folder, gate->gate);
	add(f, CLV_SLURM_FIRST, "LD_PRELOAD", path);
	if (access(path, R_OK) == 0)
		return 0;
	return clv_error_set(err, -ENOENT,
		"the gate %.300s is not installed, and nothing else enforces the share "
		"of a %s program: install %s on this node",
		path, gate->api, gate->package);
}

static int add_devices(struct filling *f, const json_t *lease, struct clv_error *err)
{
	const json_t *devices = json_object_get(lease, "devices");
	const json_t *first = json_array_get(devices, 0);
	const json_t *partition = json_object_get(first, "partition");
	int r;

	for (size_t i = 0; i < CLV_ARRAY_SIZE(visible); i++)
		unsetenv(visible[i]);
	r = clv_visible_set(devices, err);
	if (r == 0)
		r = clv_visible_limit(json_object_get(lease, "sm"), err);
	for (size_t i = 0; r == 0 && i < CLV_ARRAY_SIZE(visible); i++) {
		const char *value = getenv(visible[i]);

		if (value)
			add(f, CLV_SLURM_SET, visible[i], value);
	}
	if (strcmp(clv_json_text(partition, "scheme"), "cores") == 0)
		add(f, CLV_SLURM_CPUS, clv_json_text(partition, "address"), "");
	else if (strcmp(clv_json_text(first, "backend"), "opencl") == 0)
		add(f, CLV_SLURM_DEFAULT, "POCL_AFFINITY", "1");
	return r;
}

/* Links the lease's socket beside the gate, which looks there if the environment is lost.
 */
static int link_socket(const char *socket, const char *path, struct clv_error *err)
{
	unlink(path);
	if (symlink(socket, path) < 0)
		return clv_error_errno(err, errno, "cannot make %s", path);
	return 0;
}

/* The mounts of the task; shims: the gate to put before libraries, or NULL. */
static int prepare(const struct clv_preload *shims, const char *socket_path,
	const char *gate_path, struct filling *f, struct clv_error *err)
{
	struct clv_namespace ns;
	int r = clv_namespace_prepare(socket_path, gate_path, "", &ns, err);

	if (r == 0)
		r = clv_namespace_add_shims(&ns, shims, err);
	if (r < 0)
		return r;
	r = clv_namespace_each(&ns, add_bind, f, err);
	for (size_t i = 0; i < CLV_ARRAY_SIZE(ns.mounts); i++)
		clv_bind_mounts_done(&ns.mounts[i]);
	return r;
}

/* The files and mounts of every recipe; ret_gate: the path of OpenCL's gate. */
static int make_files(const char *socket, const struct clv_preload *shims,
	const char *folder, struct filling *f, char ret_gate[CLV_PATH_MAX],
	struct clv_error *err)
{
	char socket_path[CLV_PATH_MAX];
	int r;

	for (size_t i = 0; i < CLV_ARRAY_SIZE(foreign); i++)
		unsetenv(foreign[i]);
	umask(022);
	snprintf(socket_path, sizeof(socket_path), "%s/" CLV_SLURM_GATE, folder);
	r = clv_program_find_gate(ret_gate, CLV_PATH_MAX, err);
	if (r == 0)
		r = link_socket(socket, socket_path, err);
	return r < 0 ? r : prepare(shims, socket_path, ret_gate, f, err);
}

static int end_filling(const struct filling *f, struct clv_error *err)
{
	return f->r == 0 ? 0
			 : clv_error_errno(err, -f->r,
				   "cannot make the recipe of the job's tasks");
}

int clv_slurm_recipe_of(const json_t *lease, const char *folder,
	struct clv_slurm_recipe *recipe, struct clv_error *err)
{
	char gate_path[CLV_PATH_MAX];
	struct filling f = {recipe, 0};
	int r = make_files(clv_json_text(lease, "socket"),
		clv_preload_of(json_object_get(lease, "devices")), folder, &f, gate_path,
		err);

	if (r == 0)
		r = add_gates(&f, lease, folder, gate_path, err);
	if (r == 0)
		r = add_devices(&f, lease, err);
	if (r == 0)
		r = end_filling(&f, err);
	snprintf(recipe->lease, sizeof(recipe->lease), "%s", clv_json_text(lease, "id"));
	return r;
}

/* Device nodes of GPUs by the names that their drivers give them: NVIDIA's (also of MIG
 * and CUDA's memory), AMD's compute interface, and the DRM nodes of all. */
static void cover_nodes(struct filling *f)
{
	static const char *const patterns[] = {"/dev/nvidia[0-9]*", "/dev/nvidiactl",
		"/dev/nvidia-*", "/dev/nvidia-caps/*", "/dev/kfd", "/dev/dri/*"};
	glob_t found = {0};

	for (size_t i = 0; i < CLV_ARRAY_SIZE(patterns); i++)
		glob(patterns[i], i ? GLOB_APPEND : 0, NULL, &found);
	for (size_t i = 0; i < found.gl_pathc; i++) {
		struct stat st;

		if (stat(found.gl_pathv[i], &st) == 0 && S_ISCHR(st.st_mode))
			add(f, CLV_SLURM_BIND, found.gl_pathv[i], "/dev/null");
	}
	globfree(&found);
}

/* The gate, in programs of any user, shows the text as the reason. */
static int write_denial(const char *path, struct clv_error *err)
{
	int r = clv_file_replace(path,
		"the job has no share of a device; request one with --gpu-share or "
		"--gpu-memory\n",
		err);

	if (r == 0 && chmod(path, 0644) < 0)
		r = clv_error_errno(err, errno, "cannot make %s readable", path);
	return r;
}

int clv_slurm_recipe_deny(
	const char *folder, struct clv_slurm_recipe *recipe, struct clv_error *err)
{
	char gate_path[CLV_PATH_MAX], nowhere[CLV_PATH_MAX];
	struct filling f = {recipe, 0};
	int r;

	snprintf(nowhere, sizeof(nowhere), "%s/" CLV_SLURM_DENIED, folder);
	r = make_files(nowhere, NULL, folder, &f, gate_path, err);
	if (r == 0)
		r = write_denial(nowhere, err);
	if (r < 0)
		return r;
	add_opencl(&f, nowhere, gate_path);
	cover_nodes(&f);
	return end_filling(&f, err);
}

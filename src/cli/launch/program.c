/* SPDX-License-Identifier: Apache-2.0 */
/* Starts the program in its lease.  OPENCL_LAYERS (OCL_ICD_LAYERS) names the gate to the
 * OpenCL loader, LD_PRELOAD to the system's loader if the lease is on a GPU with CUDA or
 * HIP, and CLEAVE_LEASE names the lease to the gates.  The rest of the environment, the
 * file descriptors and the process group stay as they are. */
#include "cli/launch/program.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/paths.h"
#include "cli/frame/cli.h"
#include "cli/launch/namespace.h"
#include "cli/launch/preloadable.h"
#include "cli/launch/preloads.h"
#include "cli/launch/visible.h"
#include "core/device/icd-loader.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#define TEXT_BYTES 256 /* ELF headers have a NUL long before */
#define DEFAULT_PATH "/usr/local/bin:/usr/bin:/bin"

struct status {
	int exit_code;
	char msg[512];
};

/* Returns 0 if the file can be executed, else an errno. */
static int check_program(const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return errno;
	if (S_ISDIR(st.st_mode))
		return EISDIR;
	return access(path, X_OK) == 0 ? 0 : errno;
}

static int fail_program(const char *name, int errnum)
{
	if (errnum == ENOENT || errnum == ENOTDIR)
		return clv_cli_fail(CLV_EXIT_NOT_FOUND,
			"there is no program '%.200s'%s: check the name", name,
			strchr(name, '/') ? "" : " in PATH");
	return clv_cli_fail(CLV_EXIT_NOT_EXECUTABLE,
		"'%.200s' cannot be executed (%s): name a program that you may run", name,
		strerror(errnum));
}

int clv_program_find(const char *name, char *ret_path, size_t ret_bytes)
{
	const char *path = getenv("PATH");
	int errnum, worst = ENOENT;

	if (name[0] == '\0')
		return fail_program(name, ENOENT);
	if (strchr(name, '/')) {
		errnum = check_program(name);
		snprintf(ret_path, ret_bytes, "%s", name);
		return errnum ? fail_program(name, errnum) : 0;
	}
	if (!path)
		path = DEFAULT_PATH;
	for (;;) {
		int n = (int)strcspn(path, ":");

		snprintf(ret_path, ret_bytes, "%.*s/%s", n ? n : 1, n ? path : ".", name);
		errnum = check_program(ret_path);
		if (errnum == 0)
			return 0;
		if (errnum != ENOENT && errnum != ENOTDIR)
			worst = errnum;
		if (path[n] == '\0')
			break;
		path += n + 1;
	}
	return fail_program(name, worst);
}

int clv_program_find_gate(char *ret_path, size_t ret_bytes, struct clv_error *err)
{
	static const char *const relative_paths[] = {"../gate", CLV_GATE_RELATIVE};
	const char *chosen = getenv("CLEAVE_GATE_DIR");
	char self[CLV_PATH_MAX], path[CLV_PATH_MAX * 2];
	ssize_t n = readlink("/proc/self/exe", self, sizeof(self) - 1);
	char *slash;

	if (chosen && chosen[0]) {
		snprintf(path, sizeof(path), "%s/%s", chosen, CLV_GATE_OPENCL);
		if (realpath(path, self)) {
			snprintf(ret_path, ret_bytes, "%s", self);
			return 0;
		}
		return clv_error_set(err, -ENOENT,
			"the gate %.300s (from CLEAVE_GATE_DIR) is not there: name the "
			"folder of %s, or unset it",
			path, CLV_GATE_OPENCL);
	}
	self[n > 0 ? n : 0] = '\0';
	slash = strrchr(self, '/');
	if (slash)
		*slash = '\0';
	for (size_t i = 0; i < CLV_ARRAY_SIZE(relative_paths); i++) {
		char real[CLV_PATH_MAX];

		snprintf(path, sizeof(path), "%s/%s/%s", self, relative_paths[i],
			CLV_GATE_OPENCL);
		if (realpath(path, real)) {
			snprintf(ret_path, ret_bytes, "%s", real);
			return 0;
		}
	}
	snprintf(ret_path, ret_bytes, "%s/%s", CLV_GATE_DIR, CLV_GATE_OPENCL);
	if (access(ret_path, R_OK) == 0)
		return 0;
	return clv_error_set(err, -ENOENT,
		"the gate %s is not installed: install cleave completely, or name its "
		"folder in CLEAVE_GATE_DIR",
		ret_path);
}

static bool is_of_name(const char *entry, size_t n, const char *name)
{
	size_t n_name = strlen(name);

	return n >= n_name && memcmp(entry + n - n_name, name, n_name) == 0;
}

/* Puts the gate first into the list of a variable.  The caller's entries stay, except for
 * the gate of an outer lease. */
static int put_first(const char *variable, const char *gate_path, const char *name,
	const char *separators)
{
	const char *old = getenv(variable);
	size_t room = strlen(gate_path) + (old ? strlen(old) : 0) + 3;
	_cleanup_free_ char *list = malloc(room);
	size_t used;

	if (!list)
		return -ENOMEM;
	used = (size_t)snprintf(list, room, "%s", gate_path);
	while (old && *old) {
		size_t n = strcspn(old, separators);

		if (n > 0 && !is_of_name(old, n, name))
			used += (size_t)snprintf(
				list + used, room - used, ":%.*s", (int)n, old);
		old += n + (old[n] != '\0');
	}
	return setenv(variable, list, 1) < 0 ? -errno : 0;
}

/* Preloads the gate from the lease's folder, where it finds the lease even without the
 * environment, or without a namespace from the folder of the OpenCL gate. */
static int preload(const struct clv_program *program, const struct clv_preload *gate,
	struct clv_error *err)
{
	const char *other = program->ns ? program->ns->folder : program->gate_path;
	int n = (int)strlen(other);
	char path[CLV_PATH_MAX + 32];

	if (!program->ns) {
		const char *slash = strrchr(other, '/');

		n = slash ? (int)(slash - other) : 0;
	}
	snprintf(path, sizeof(path), "%.*s/%s", n, other, gate->gate);
	if (access(path, R_OK) < 0)
		return clv_error_set(err, -ENOENT,
			"the gate %.300s is not installed, and nothing else enforces the "
			"share of a %s program: install %s",
			path, gate->api, gate->package);
	if (put_first("LD_PRELOAD", path, gate->gate, ": ") < 0)
		return clv_error_errno(err, ENOMEM, "cannot set LD_PRELOAD");
	return 0;
}

/* Khronos' loader opens the drivers that this variable names without the folder in which
 * the gate takes the place of all drivers: the gate opens them instead of the loader. */
static int hand_over_drivers(void)
{
	const char *files = getenv(clv_icd_variables[CLV_ICD_FILENAMES]);

	if (!files || !files[0])
		return 0;
	if (setenv(CLV_GATED_FILENAMES, files, 1) < 0)
		return -errno;
	return unsetenv(clv_icd_variables[CLV_ICD_FILENAMES]) < 0 ? -errno : 0;
}

static int set_gates(const struct clv_program *program, struct clv_error *err)
{
	const struct clv_preload *gate = clv_preload_of(program->devices);

	/* An OpenCL loader reads one of the two: core/device/icd-loader.h. */
	if (put_first("OPENCL_LAYERS", program->gate_path, CLV_GATE_OPENCL, ":") < 0 ||
		put_first("OCL_ICD_LAYERS", program->gate_path, CLV_GATE_OPENCL, ":") < 0)
		return clv_error_errno(err, ENOMEM, "cannot set OPENCL_LAYERS");
	if (setenv("CLEAVE_LEASE", program->lease_socket, 1) < 0)
		return clv_error_errno(err, ENOMEM, "cannot set CLEAVE_LEASE");
	if (program->ns && hand_over_drivers() < 0)
		return clv_error_errno(err, ENOMEM, "cannot set " CLV_GATED_FILENAMES);
	return gate ? preload(program, gate, err) : 0;
}

/* 0, or an exit code with the reason in *err if no gate can be loaded. */
static int check_preload(const struct clv_program *program, struct clv_error *err)
{
	const struct clv_preload *gate = clv_preload_of(program->devices);
	const char *api = gate ? gate->api : "OpenCL";
	struct clv_error why = {};

	if (!program->must_preload ||
		(gate ? clv_preloadable_check(program->path, &why)
		      : clv_preloadable_check_loaded(program->path, &why)) == 0)
		return 0;
	if (program->allow_ungated) {
		clv_cli_fail(0,
			"%s, so the share is not enforced on its use of %s; running it "
			"anyway, as asked",
			why.msg, api);
		return 0;
	}
	clv_error_set(err, -EPERM,
		"%s, so the share could not be enforced on its use of %s: give it a "
		"whole partition or device (--profile, --share 1), or add "
		"--allow-ungated",
		why.msg, api);
	return CLV_EXIT_NOT_PERMITTED;
}

static void __attribute__((noreturn))
give_up(int status_fd, int exit_code, const char *msg)
{
	struct status status = {.exit_code = exit_code};

	snprintf(status.msg, sizeof(status.msg), "%s", msg);
	(void)!write(status_fd, &status, sizeof(status));
	_exit(exit_code);
}

static bool is_text(const char *path)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC);
	char begin[TEXT_BYTES];
	ssize_t n = fd < 0 ? -1 : read(fd, begin, sizeof(begin));

	return n >= 0 && !memchr(begin, '\0', (size_t)n);
}

/* Returns on an error, with errno set.  A text that names no interpreter is run by the
 * shell, as execvp() and shells do. */
static void execute(const struct clv_program *program)
{
	execv(program->path, program->argv);
	if (errno != ENOEXEC)
		return;
	if (is_text(program->path))
		execvp(program->path, program->argv);
	errno = ENOEXEC;
}

void clv_program_become(const struct clv_program *program, int status_fd)
{
	struct clv_error err = {};
	int exit_code;

	if (program->gate_path) {
		if (set_gates(program, &err) < 0)
			give_up(status_fd, CLV_EXIT_FAILED, err.msg);
		if (program->if_no_agent)
			setenv("CLEAVE_IF_NO_AGENT", program->if_no_agent, 1);
		else
			unsetenv("CLEAVE_IF_NO_AGENT");
		if (clv_visible_set(program->devices, &err) < 0 ||
			clv_visible_limit(program->sm, &err) < 0)
			give_up(status_fd, CLV_EXIT_FAILED, err.msg);
	}
	if (program->ns && clv_namespace_enter(program->ns, &err) < 0)
		give_up(status_fd, CLV_EXIT_FAILED, err.msg);
	exit_code = check_preload(program, &err);
	if (exit_code)
		give_up(status_fd, exit_code, err.msg);

	execute(program);
	exit_code = errno == ENOENT ? CLV_EXIT_NOT_FOUND : CLV_EXIT_NOT_EXECUTABLE;
	clv_error_errno(&err, errno,
		"'%.200s' cannot be executed: check its interpreter and architecture",
		program->path);
	give_up(status_fd, exit_code, err.msg);
}

int clv_program_wait_started(int status_fd)
{
	struct status status;
	ssize_t n;

	do
		n = read(status_fd, &status, sizeof(status));
	while (n < 0 && errno == EINTR);
	if (n != sizeof(status))
		return 0;

	status.msg[sizeof(status.msg) - 1] = '\0';
	return clv_cli_fail(status.exit_code, "%s", status.msg);
}

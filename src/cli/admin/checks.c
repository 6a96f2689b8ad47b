/* SPDX-License-Identifier: Apache-2.0 */
/* Checks of the machine: OpenCL, the kernel, folders.  Where possible a check tries a
 * feature instead of comparing version numbers.  Vendors' libraries are opened in a child
 * process, so that a crash or a hang fails one check only. */
#include "cli/admin/checks.h"

#include "base/cleanup.h"
#include "base/error.h"
#include "base/paths.h"
#include "cli/launch/bind-mounts.h"
#include "cli/launch/loader.h"
#include "cli/launch/namespace.h"
#include "cli/launch/preloads.h"
#include "cli/launch/program.h"

#include <assert.h>
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <link.h>
#include <signal.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/utsname.h>
#include <sys/wait.h>
#include <unistd.h>

#define CHILD_TIMEOUT_S 10
#ifndef SO_PEERPIDFD
#define SO_PEERPIDFD 77
#endif
#ifndef SYS_futex_waitv
#define SYS_futex_waitv 449
#endif

const char *clv_verdict_to_string(enum clv_verdict verdict)
{
	static const char *const names[_CLV_VERDICT_MAX] = {
		[CLV_VERDICT_OK] = "ok",
		[CLV_VERDICT_INFO] = "info",
		[CLV_VERDICT_WARN] = "warning",
		[CLV_VERDICT_FAIL] = "fail",
	};

	assert(verdict < _CLV_VERDICT_MAX);
	return names[verdict];
}

void clv_finding_set(struct clv_finding *ret, enum clv_verdict verdict,
	const char *remedy, const char *format, ...)
{
	va_list args;

	ret->verdict = verdict;
	snprintf(ret->remedy, sizeof(ret->remedy), "%s", remedy);
	va_start(args, format);
	vsnprintf(ret->found, sizeof(ret->found), format, args);
	va_end(args);
}

/* What the child process reports about a library. */
struct library {
	bool is_open;
	bool has_symbol;
	char path[512]; /* or why it could not be opened */
};

static void open_library(const char *name, const char *symbol, struct library *ret)
{
	void *handle = dlopen(name, RTLD_NOW | RTLD_LOCAL);
	struct link_map *map = NULL;

	if (!handle) {
		snprintf(ret->path, sizeof(ret->path), "%s", dlerror());
		return;
	}
	ret->is_open = true;
	ret->has_symbol = dlsym(handle, symbol) != NULL;
	if (dlinfo(handle, RTLD_DI_LINKMAP, &map) == 0 && map)
		snprintf(ret->path, sizeof(ret->path), "%s", map->l_name);
}

static void try_library(const char *name, const char *symbol, struct library *ret)
{
	int fds[2], status;
	pid_t child;

	*ret = (struct library){.path = "it crashed or hung while it was opened"};
	if (pipe2(fds, O_CLOEXEC) < 0)
		return;
	child = fork();
	if (child == 0) {
		struct library found = {};

		alarm(CHILD_TIMEOUT_S);
		open_library(name, symbol, &found);
		(void)!write(fds[1], &found, sizeof(found));
		_exit(0);
	}
	close(fds[1]);
	if (child > 0) {
		struct library found;

		if (read(fds[0], &found, sizeof(found)) == sizeof(found))
			*ret = found;
		waitpid(child, &status, 0);
	}
	close(fds[0]);
}

static void ask_loader(struct clv_finding *ret)
{
	static const char remedy[] = "install " CLV_LOADER_REMEDY;
	struct clv_icd_loader loader;
	struct library library;
	char what[64];

	try_library(CLV_ICD_LOADER_SONAME, "clGetPlatformIDs", &library);
	if (!library.is_open || !library.has_symbol ||
		!clv_loader_read(library.path, &loader)) {
		clv_finding_set(ret, CLV_VERDICT_FAIL, remedy, "%s", library.path);
		return;
	}
	clv_icd_loader_describe(&loader, what, sizeof(what));
	if (loader.layers)
		clv_finding_set(ret, CLV_VERDICT_OK, "", "%s: %s, takes the gate by %s",
			library.path, what, loader.layers);
	else if (loader.has_folder)
		clv_finding_set(ret, CLV_VERDICT_WARN, remedy,
			"%s (%s) takes no layers: the gate works only in place of the "
			"drivers, and not with --no-namespace",
			library.path, what);
	else
		clv_finding_set(ret, CLV_VERDICT_FAIL, remedy,
			"%s (%s) takes no layers and does not look for drivers in "
			"/etc/OpenCL/vendors, so no gate can be loaded",
			library.path, what);
}

static bool is_icd(const char *name)
{
	size_t n = strlen(name);

	return n > 4 && strcmp(name + n - 4, ".icd") == 0;
}

/* Whether the library that an .icd file names can be opened. */
static bool is_usable_icd(const char *folder, const char *name)
{
	char path[CLV_PATH_MAX], line[CLV_PATH_MAX] = "";
	struct library library;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	file = fopen(path, "re");
	if (!file)
		return false;
	(void)!fgets(line, sizeof(line), file);
	fclose(file);
	line[strcspn(line, "\r\n")] = '\0';
	try_library(line, "clGetExtensionFunctionAddress", &library);
	return library.is_open;
}

static void append_name(char *names, size_t n_bytes, const char *name)
{
	size_t used = strlen(names);

	snprintf(names + used, n_bytes - used, "%s%s", used ? ", " : "", name);
}

static void ask_vendors(struct clv_finding *ret)
{
	static const char remedy[] = "install the OpenCL of your GPU's vendor, or "
				     "pocl-opencl-icd for the CPU";
	const char *chosen = getenv("OCL_ICD_VENDORS");
	const char *path = chosen && chosen[0] ? chosen : "/etc/OpenCL/vendors";
	char good[128] = "", bad[128] = "";
	struct dirent *entry;
	DIR *folder = opendir(path);

	while (folder && (entry = readdir(folder))) {
		if (!is_icd(entry->d_name))
			continue;
		if (is_usable_icd(path, entry->d_name))
			append_name(good, sizeof(good), entry->d_name);
		else
			append_name(bad, sizeof(bad), entry->d_name);
	}
	if (folder)
		closedir(folder);
	if (good[0] && !bad[0])
		clv_finding_set(ret, CLV_VERDICT_OK, "", "%s in %s", good, path);
	else if (good[0])
		clv_finding_set(ret, CLV_VERDICT_WARN,
			"install again the library that the file names, or remove it",
			"%s in %s; of %s the library cannot be opened", good, path, bad);
	else if (bad[0])
		clv_finding_set(ret, CLV_VERDICT_FAIL, remedy,
			"of %s in %s the library cannot be opened", bad, path);
	else
		clv_finding_set(ret, CLV_VERDICT_FAIL, remedy,
			"no OpenCL implementation in %s", path);
}

static void ask_gate(struct clv_finding *ret)
{
	struct clv_error err;
	struct library gate;
	char path[CLV_PATH_MAX];

	if (clv_program_find_gate(path, sizeof(path), &err) < 0) {
		clv_finding_set(ret, CLV_VERDICT_FAIL, "install cleave completely", "%s",
			err.msg);
		return;
	}
	try_library(path, "clInitLayer", &gate);
	if (!gate.is_open || !gate.has_symbol)
		clv_finding_set(ret, CLV_VERDICT_FAIL, "install cleave again",
			"%.200s is not a working gate: %.150s", path,
			gate.is_open ? "it lacks clInitLayer" : gate.path);
	else
		clv_finding_set(ret, CLV_VERDICT_OK, "", "%s", path);
}

static bool find_preload(
	const struct clv_preload *preload, char *ret_path, size_t ret_bytes)
{
	char opencl[CLV_PATH_MAX];
	const char *slash;

	snprintf(ret_path, ret_bytes, "%s", preload->gate);
	if (clv_program_find_gate(opencl, sizeof(opencl), NULL) < 0)
		return false;
	slash = strrchr(opencl, '/');
	snprintf(ret_path, ret_bytes, "%.*s/%s", (int)(slash - opencl), opencl,
		preload->gate);
	return true;
}

/* Checks a gate that is preloaded into programs and covers the driver's library in their
 * namespace. */
static void ask_preload(const struct clv_preload *preload, struct clv_finding *ret)
{
	struct library gate = {.path = "it is not there"};
	char path[CLV_PATH_MAX * 2], remedy[128];
	struct clv_bind_mounts driver;

	clv_bind_mounts_find(preload->libraries[0], &driver);
	snprintf(remedy, sizeof(remedy), "install %s, or leave %s's GPUs undivided",
		preload->package, preload->api);
	if (find_preload(preload, path, sizeof(path)) && driver.n_copies > 0)
		try_library(path, preload->probe, &gate);
	if (driver.n_copies == 0)
		clv_finding_set(ret, CLV_VERDICT_INFO, "", "no %s: no program can use %s",
			preload->libraries[0], preload->api);
	else if (!gate.is_open || !gate.has_symbol)
		clv_finding_set(ret, CLV_VERDICT_WARN, remedy,
			"%.150s is not a working gate: %.150s%s", path,
			gate.is_open ? "it lacks " : gate.path,
			gate.is_open ? preload->probe : "");
	else
		clv_finding_set(ret, CLV_VERDICT_OK, "", "%.150s, in front of %.150s",
			path, driver.original);
	clv_bind_mounts_done(&driver);
}

static void ask_gate_cuda(struct clv_finding *ret)
{
	ask_preload(&clv_preloads[CLV_PRELOAD_CUDA], ret);
}

static void ask_gate_hip(struct clv_finding *ret)
{
	ask_preload(&clv_preloads[CLV_PRELOAD_HIP], ret);
}

static void ask_runtime(struct clv_finding *ret)
{
	char path[CLV_PATH_MAX];
	struct clv_error err;

	if (clv_path_user_runtime(true, path, sizeof(path), &err) < 0)
		clv_finding_set(ret, CLV_VERDICT_FAIL,
			"set XDG_RUNTIME_DIR to a folder of your own with mode 700", "%s",
			err.msg);
	else if (access(path, W_OK) < 0)
		clv_finding_set(ret, CLV_VERDICT_FAIL, "make it writable",
			"%s is not writable: %s", path, strerror(errno));
	else
		clv_finding_set(ret, CLV_VERDICT_OK, "", "%s", path);
}

static void ask_locks(struct clv_finding *ret)
{
	if (access(CLV_PATH_LOCKS, W_OK | X_OK) == 0)
		clv_finding_set(
			ret, CLV_VERDICT_OK, "", "%s is writable", CLV_PATH_LOCKS);
	else
		clv_finding_set(ret, CLV_VERDICT_FAIL,
			"as root: mkdir -p " CLV_PATH_LOCKS
			" && chmod 1777 " CLV_PATH_LOCKS ", or use the system's agent",
			"%s: %s", CLV_PATH_LOCKS, strerror(errno));
}

static void ask_namespace(struct clv_finding *ret)
{
	char remedy[sizeof(ret->remedy)];
	struct clv_error err;

	snprintf(remedy, sizeof(remedy), "%s, or run with --no-namespace",
		clv_namespace_remedy());
	if (clv_namespace_try(&err) == 0)
		clv_finding_set(ret, CLV_VERDICT_OK, "", "a mount namespace can be made");
	else
		clv_finding_set(ret, CLV_VERDICT_WARN, remedy,
			"no mount namespace can be made (%s)", err.msg);
}

static void ask_pidfd(struct clv_finding *ret)
{
	_cleanup_close_ int fd = (int)syscall(SYS_pidfd_open, getpid(), 0);

	if (fd >= 0)
		clv_finding_set(ret, CLV_VERDICT_OK, "", "pidfd_open works");
	else
		clv_finding_set(ret, CLV_VERDICT_FAIL, "use Linux 5.3 or later",
			"pidfd_open: %s", strerror(errno));
}

static void ask_peer_pidfd(struct clv_finding *ret)
{
	int pair[2], fd = -1;
	socklen_t n_bytes = sizeof(fd);

	if (socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) < 0) {
		clv_finding_set(
			ret, CLV_VERDICT_FAIL, "", "socketpair: %s", strerror(errno));
		return;
	}
	if (getsockopt(pair[0], SOL_SOCKET, SO_PEERPIDFD, &fd, &n_bytes) == 0)
		clv_finding_set(ret, CLV_VERDICT_OK, "", "SO_PEERPIDFD works");
	else
		clv_finding_set(ret, CLV_VERDICT_INFO, "",
			"no SO_PEERPIDFD (Linux 6.5): start times are compared instead");
	if (fd >= 0)
		close(fd);
	close(pair[0]);
	close(pair[1]);
}

static void ask_seals(struct clv_finding *ret)
{
	_cleanup_close_ int fd =
		memfd_create("cleave-doctor", MFD_CLOEXEC | MFD_ALLOW_SEALING);

	if (fd >= 0 && fcntl(fd, F_ADD_SEALS, F_SEAL_SHRINK | F_SEAL_FUTURE_WRITE) == 0)
		clv_finding_set(
			ret, CLV_VERDICT_OK, "", "memfds can be sealed against writing");
	else
		clv_finding_set(ret, CLV_VERDICT_FAIL, "use Linux 5.1 or later",
			"F_SEAL_FUTURE_WRITE: %s", strerror(errno));
}

static void ask_futex_waitv(struct clv_finding *ret)
{
	if (syscall(SYS_futex_waitv, NULL, 0, 0, NULL, 0) < 0 && errno == ENOSYS)
		clv_finding_set(ret, CLV_VERDICT_INFO, "",
			"no futex_waitv (Linux 5.16): cleave works without it");
	else
		clv_finding_set(ret, CLV_VERDICT_OK, "", "futex_waitv works");
}

static void ask_slices(struct clv_finding *ret)
{
	struct utsname name;
	int major = 0, minor = 0;

	if (uname(&name) < 0 || sscanf(name.release, "%d.%d", &major, &minor) != 2)
		major = 0;
	if (major > 6 || (major == 6 && minor >= 12))
		clv_finding_set(
			ret, CLV_VERDICT_OK, "", "Linux %d.%d has them", major, minor);
	else
		clv_finding_set(ret, CLV_VERDICT_WARN,
			"use Linux 6.12 or later where hand-overs matter beside CPU load",
			"Linux %d.%d has none: under CPU load a hand-over can take "
			"milliseconds",
			major, minor);
}

static void ask_dmem(struct clv_finding *ret)
{
	FILE *file = fopen("/sys/fs/cgroup/cgroup.controllers", "re");
	char line[256] = "";

	if (file) {
		(void)!fgets(line, sizeof(line), file);
		fclose(file);
	}
	if (strstr(line, "dmem"))
		clv_finding_set(ret, CLV_VERDICT_INFO, "", "cgroup v2 has dmem");
	else
		clv_finding_set(ret, CLV_VERDICT_INFO, "",
			"cgroup v2 has no dmem: the gate alone enforces memory quotas");
}

static void ask_nvidia(struct clv_finding *ret)
{
	struct library nvml;

	if (access("/proc/driver/nvidia/version", R_OK) < 0 &&
		access("/dev/nvidiactl", F_OK) < 0) {
		clv_finding_set(ret, CLV_VERDICT_INFO, "", "no NVIDIA driver");
		return;
	}
	try_library("libnvidia-ml.so.1", "nvmlInit_v2", &nvml);
	clv_finding_set(ret, CLV_VERDICT_INFO,
		nvml.is_open ? "" : "install the driver's libraries (libnvidia-ml.so.1)",
		"NVIDIA driver, %s", nvml.is_open ? nvml.path : "without its libraries");
}

/* Whether the module's RegistryDwords turn the clearing of memory off. */
static bool is_clearing_off(const char *params)
{
	const char *at = strcasestr(params, "RMDisableScrubOnFree=");

	return at && strtoul(strchr(at, '=') + 1, NULL, 0) != 0;
}

static void ask_clearing(struct clv_finding *ret)
{
	const char *folder = getenv("CLEAVE_NVIDIA_PROC");
	char path[CLV_PATH_MAX], params[16384] = "";
	FILE *file;

	snprintf(
		path, sizeof(path), "%s/params", folder ? folder : "/proc/driver/nvidia");
	file = fopen(path, "re");
	if (!file) {
		clv_finding_set(ret, CLV_VERDICT_INFO, "", "no NVIDIA driver");
		return;
	}
	params[fread(params, 1, sizeof(params) - 1, file)] = '\0';
	fclose(file);
	if (is_clearing_off(params))
		clv_finding_set(ret, CLV_VERDICT_WARN,
			"load the nvidia module without RMDisableScrubOnFree",
			"NVIDIA's driver is configured not to clear memory: a program "
			"can read what others left");
	else
		clv_finding_set(ret, CLV_VERDICT_OK, "",
			"NVIDIA's driver clears memory as it is freed");
}

static void ask_amd(struct clv_finding *ret)
{
	clv_finding_set(ret, CLV_VERDICT_INFO, "",
		access("/sys/module/amdgpu", F_OK) == 0 ? "the amdgpu driver is loaded"
							: "no amdgpu driver");
}

const struct clv_check clv_checks[] = {
	/* clang-format off */
	{ "opencl-loader",  "it loads the gate as a layer",            ask_loader },
	{ "opencl-vendors", "they provide the devices",                ask_vendors },
	{ "gate",           "it enforces shares on OpenCL programs",   ask_gate },
	{ "gate-cuda",      "it enforces shares on CUDA programs",     ask_gate_cuda },
	{ "gate-hip",       "it enforces shares on HIP programs",      ask_gate_hip },
	{ "runtime-folder", "it contains the sockets",                 ask_runtime },
	{ "locks",          "a device has one agent at a time",        ask_locks },
	{ "mount-namespace", "it enforces shares on programs that drop their environment", ask_namespace },
	{ "pidfd",          "it reports the end of a process",         ask_pidfd },
	{ "memfd-seals",    "tenants cannot write their own limits",   ask_seals },
	{ "peer-pidfd",     "it identifies a process without a race",  ask_peer_pidfd },
	{ "futex-waitv",    "it waits on several words at once",       ask_futex_waitv },
	{ "slices",         "hand-overs are quick under CPU load",     ask_slices },
	{ "cgroup-dmem",    "the kernel can enforce memory quotas",    ask_dmem },
	{ "nvidia",         "partitions and faster hand-overs",        ask_nvidia },
	{ "amd",            "partitions",                              ask_amd },
	{ "memory-clearing", "no tenant can read what another left",  ask_clearing },
	/* clang-format on */
};
const size_t clv_n_checks = CLV_ARRAY_SIZE(clv_checks);

/* SPDX-License-Identifier: Apache-2.0 */
/* Enforces the share on programs that drop their environment: in the program's mount
 * namespace the folder of OpenCL vendors has one driver, the gate, and the original
 * folder is mounted beside the gate.  The vendors' libraries themselves stay visible: a
 * program that opens one by its path bypasses the loader and the gate. */
#include "cli/launch/namespace.h"

#include "base/array.h"
#include "base/cleanup.h"
#include "base/error.h"
#include "base/mounts.h"
#include "base/paths.h"
#include "cli/launch/program-folder.h"

#include <assert.h>
#include <errno.h>
#include <fcntl.h>
#include <sched.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#define SYSTEM_VENDORS "/etc/OpenCL/vendors"
#define ICD_NAME "cleave.icd"
#define OPEN_TEXT "cleave run --if-no-agent=open\n"
#define ENTRIES_MAX 5
#define APPARMOR_SETTING "/proc/sys/kernel/apparmor_restrict_unprivileged_userns"
#define APPARMOR_PROFILE "/etc/apparmor.d/cleave"

static_assert(CLV_NAMESPACE_PATH_MAX == CLV_PATH_MAX, "joined paths fit");

static bool has_content(const char *path, const char *text, size_t n_bytes)
{
	char old[CLV_NAMESPACE_PATH_MAX + 64];
	_cleanup_close_ int fd = open(path, O_RDONLY | O_CLOEXEC | O_NOFOLLOW);

	return fd >= 0 && read(fd, old, sizeof(old)) == (ssize_t)n_bytes &&
	       memcmp(old, text, n_bytes) == 0;
}

/* Leaves a file alone that has this content already, since other programs of the lease
 * may be reading it. */
static int write_file(const char *path, const char *text, struct clv_error *err)
{
	size_t n_bytes = strlen(text);
	_cleanup_close_ int fd = -1;

	if (has_content(path, text, n_bytes))
		return 0;
	fd = open(path, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
	if (fd < 0)
		return clv_error_errno(err, errno, "cannot write %s", path);
	errno = ENOSPC; /* a short write sets no errno */
	/* Regardless of the umask: a program that changes its user reads the file, too.
	 */
	if (write(fd, text, n_bytes) != (ssize_t)n_bytes || fchmod(fd, 0644) < 0)
		return clv_error_errno(err, errno, "cannot write %s", path);
	return 0;
}

/* Leaves an existing folder alone, since another folder may be mounted on it. */
static int make_folder(const char *path, struct clv_error *err)
{
	int r = mkdir(path, 0755) < 0 ? -errno : 0;

	if (r == 0 && chmod(path, 0755) < 0)
		r = -errno;
	return r < 0 && r != -EEXIST ? clv_error_errno(err, -r, "cannot make %s", path)
				     : 0;
}

static int make_link(
	const char *to, const char *folder, const char *name, struct clv_error *err)
{
	char path[CLV_PATH_MAX + 64];

	snprintf(path, sizeof(path), "%s/%s", folder, name);
	if (symlink(to, path) < 0 && errno != EEXIST)
		return clv_error_errno(err, errno, "cannot make %s", path);
	return 0;
}

/* The vendors that the caller's environment names, or NULL. */
static const char *chosen_vendors(void)
{
	const char *chosen = getenv("OCL_ICD_VENDORS");

	if (!chosen || !chosen[0])
		chosen = getenv("OPENCL_VENDOR_PATH");
	return chosen && chosen[0] ? chosen : NULL;
}

/* Inside another lease the folder is that lease's: replaces it with the original one. */
static void resolve_outer_lease(char path[CLV_NAMESPACE_PATH_MAX])
{
	char icd[CLV_NAMESPACE_PATH_MAX + 32], line[CLV_NAMESPACE_PATH_MAX] = "";
	char real[CLV_NAMESPACE_PATH_MAX], *slash;
	FILE *file;

	snprintf(icd, sizeof(icd), "%s/%s", path, ICD_NAME);
	file = fopen(icd, "re");
	if (!file)
		return;
	if (fgets(line, sizeof(line), file) && (slash = strrchr(line, '/'))) {
		*slash = '\0';
		if (strlen(line) + sizeof("/vendors.real") <= CLV_NAMESPACE_PATH_MAX) {
			strcat(line, "/vendors.real");
			strcpy(path, realpath(line, real) ? real : line);
		}
	}
	fclose(file);
}

/* Finds the vendors that the program would have seen: a folder to mount, or, if the
 * environment names one .icd file or one library, an entry for that. */
static int find_original(struct clv_namespace *ns, struct clv_error *err)
{
	const char *chosen = chosen_vendors();
	const char *usual = ns->own[0] ? ns->own : SYSTEM_VENDORS;
	char entry[CLV_NAMESPACE_PATH_MAX + 32], line[CLV_NAMESPACE_PATH_MAX + 2];
	struct stat st;
	FILE *file;

	if (!chosen)
		chosen = usual;
	if (stat(chosen, &st) == 0 && S_ISDIR(st.st_mode)) {
		if (!realpath(chosen, ns->original))
			return clv_error_errno(err, errno, "cannot use %s", chosen);
		resolve_outer_lease(ns->original);
		return 0;
	}

	ns->original[0] = '\0';
	if (chosen == usual)
		return 0;
	snprintf(line, sizeof(line), "%s\n", chosen);
	file = fopen(chosen, "re");
	if (file && strstr(chosen, ".icd"))
		(void)!fgets(line, sizeof(line), file);
	if (file)
		fclose(file);
	snprintf(entry, sizeof(entry), "%s/chosen.icd", ns->vendors_real);
	return write_file(entry, line, err);
}

/* The lease's folder, where it can be written: an agent of the user's own has made it.
 * That of the system's agent cannot, or tenants could fill the file system of /run. */
static int choose_folder(
	const char *lease_socket, struct clv_namespace *ns, struct clv_error *err)
{
	const char *slash = strrchr(lease_socket, '/');
	int r;

	if (!slash || (size_t)(slash - lease_socket) >= sizeof(ns->folder))
		return clv_error_set(err, -EINVAL,
			"the agent gave '%.80s' as the lease's socket, which is "
			"unusable: "
			"install the same release of cleave and cleaved",
			lease_socket);
	snprintf(ns->folder, sizeof(ns->folder), "%.*s", (int)(slash - lease_socket),
		lease_socket);
	if (access(ns->folder, W_OK) == 0)
		return 0;
	r = clv_program_folder_make(lease_socket, ns->folder, sizeof(ns->folder), err);
	ns->is_own_folder = r == 0;
	/* The gate looks for the socket beside itself. */
	return r < 0 ? r : make_link(lease_socket, ns->folder, slash + 1, err);
}

/* Links the gates, which are all in the folder of OpenCL's, into the lease's folder. */
static int link_gates(const char *folder, const char *gate_path, struct clv_error *err)
{
	static const char *const names[] = {CLV_GATE_OPENCL, CLV_GATE_CUDA, CLV_GATE_HIP};
	int n_folder = (int)(strrchr(gate_path, '/') - gate_path);

	for (size_t i = 0; i < CLV_ARRAY_SIZE(names); i++) {
		char from[CLV_PATH_MAX + 32];
		int r;

		snprintf(from, sizeof(from), "%.*s/%s", n_folder, gate_path, names[i]);
		r = make_link(from, folder, names[i], err);
		if (r < 0)
			return r;
	}
	return 0;
}

/* If the system has no such folder, nothing is mounted, and a variable names the lease's
 * folder. */
static bool is_mounted(void)
{
	return access(SYSTEM_VENDORS, F_OK) == 0;
}

static const char *vendors_folder(const struct clv_namespace *ns)
{
	return is_mounted() ? SYSTEM_VENDORS : ns->vendors;
}

/* The system's folder is covered in any case. */
static void take_own_folder(struct clv_namespace *ns, const char *folder)
{
	char real[CLV_NAMESPACE_PATH_MAX], system[CLV_NAMESPACE_PATH_MAX];

	if (!folder[0] || !realpath(folder, real) ||
		(realpath(SYSTEM_VENDORS, system) && strcmp(real, system) == 0))
		return;
	strcpy(ns->own, real);
}

int clv_namespace_prepare(const char *lease_socket, const char *gate_path,
	const char *own_folder, struct clv_namespace *ret, struct clv_error *err)
{
	int r;

	*ret = (struct clv_namespace){
		.lease_socket = lease_socket, .gate_path = gate_path};
	take_own_folder(ret, own_folder);
	r = choose_folder(lease_socket, ret, err);
	if (r < 0)
		return r;
	snprintf(ret->vendors, sizeof(ret->vendors), "%s/vendors", ret->folder);
	snprintf(ret->vendors_real, sizeof(ret->vendors_real), "%s/vendors.real",
		ret->folder);
	r = make_folder(ret->vendors, err);
	if (r == 0)
		r = make_folder(ret->vendors_real, err);
	if (r == 0)
		r = link_gates(ret->folder, gate_path, err);
	if (r < 0)
		return r;
	snprintf(ret->icd, sizeof(ret->icd), "%s/" CLV_GATE_OPENCL "\n",
		vendors_folder(ret));
	return find_original(ret, err);
}

/* The gate finds its lease in the folder of drivers or in that of the lease. */
int clv_namespace_allow_open(struct clv_namespace *ns, struct clv_error *err)
{
	char path[CLV_PATH_MAX + 32];

	ns->allows_open = true;
	snprintf(path, sizeof(path), "%s/" CLV_LEASE_OPEN, ns->folder);
	return write_file(path, OPEN_TEXT, err);
}

/* Links the shim of the needed library beside the libraries that need it, so that they
 * find the shim in their own folder. */
static int link_needed(
	const struct clv_namespace *ns, const char *needed, struct clv_error *err)
{
	char from[CLV_PATH_MAX + 32], to[CLV_PATH_MAX + 32];

	snprintf(from, sizeof(from), "../" CLV_DRIVERS "/%s", needed);
	snprintf(to, sizeof(to), "%s/" CLV_DRIVERS_REAL "/%s", ns->folder, needed);
	if (symlink(from, to) < 0 && errno != EEXIST && errno != ENOENT)
		return clv_error_errno(err, errno, "cannot make %s", to);
	return 0;
}

int clv_namespace_add_shims(struct clv_namespace *ns, const struct clv_preload *preload,
	struct clv_error *err)
{
	bool is_needed, has_needed = false;
	int r = 0;

	for (size_t i = 0; preload && r == 0 && i < CLV_ARRAY_SIZE(ns->mounts); i++) {
		const char *library = preload->libraries[i];

		if (!library)
			continue;
		is_needed = preload->needed && strcmp(library, preload->needed) == 0;
		r = clv_bind_mounts_prepare(ns->folder,
			is_needed ? CLV_DRIVERS_BELOW : CLV_DRIVERS_REAL, library,
			preload->gate, &ns->mounts[i], err);
		has_needed |= is_needed && ns->mounts[i].n_copies > 0;
	}
	return r == 0 && has_needed ? link_needed(ns, preload->needed, err) : r;
}

static int write_proc(const char *path, const char *text, struct clv_error *err)
{
	size_t n_bytes = strlen(text);
	_cleanup_close_ int fd = open(path, O_WRONLY | O_CLOEXEC);

	if (fd < 0 || write(fd, text, n_bytes) < 0)
		return clv_error_errno(err, errno, "writing %s", path);
	return 0;
}

static int write_map(const char *path, unsigned int id, struct clv_error *err)
{
	char line[64];

	snprintf(line, sizeof(line), "%u %u 1", id, id);
	return write_proc(path, line, err);
}

/* Root needs a mount namespace only; other users need a user namespace as well, which
 * maps just the user itself. */
static int unshare_mounts(struct clv_error *err)
{
	unsigned int uid = geteuid(), gid = getegid();
	int r;

	if (unshare(CLONE_NEWNS) == 0)
		return 0;
	if (unshare(CLONE_NEWUSER | CLONE_NEWNS) < 0)
		return clv_error_errno(err, errno, "unshare");
	r = write_proc("/proc/self/setgroups", "deny", err);
	if (r == 0)
		r = write_map("/proc/self/uid_map", uid, err);
	if (r == 0)
		r = write_map("/proc/self/gid_map", gid, err);
	return r;
}

static int enter_mount_namespace(struct clv_error *err)
{
	int r = unshare_mounts(err);

	return r < 0 ? r : clv_mounts_make_slaves(err);
}

/* Everything that the gate looks for beside itself.  No other user can enter the lease's
 * folder: a gate in it would be out of reach for a program that changes its user, and
 * could not report why there is no device.  Other users cannot follow the links. */
static size_t list_entries(
	const struct clv_namespace *ns, struct clv_mount_entry ret[ENTRIES_MAX])
{
	const struct clv_mount_entry entries[] = {
		{ICD_NAME, ns->icd, false},
		{CLV_GATE_OPENCL, ns->gate_path, true},
		{strrchr(ns->lease_socket, '/') + 1, ns->lease_socket, true},
		{"vendors.real", ns->vendors_real, true},
		{CLV_LEASE_OPEN, OPEN_TEXT, false},
	};

	static_assert(CLV_ARRAY_SIZE(entries) == ENTRIES_MAX, "ret has room");
	memcpy(ret, entries, sizeof(entries));
	return ENTRIES_MAX - (ns->allows_open ? 0 : 1);
}

struct binds {
	struct clv_bind items[3 + CLV_PRELOAD_LIBRARIES_MAX * (1 + CLV_BIND_MOUNTS_MAX)];
	size_t n;
	struct clv_mount_entry entries[ENTRIES_MAX];
};

static void add_bind(struct binds *binds, const char *from, const char *to)
{
	binds->items[binds->n++] = clv_bind_open(from, to);
}

/* Programs of the lease belong to the user whose files the lease's folder has.  In a
 * folder in memory that only their namespace has they can put nothing in the place of the
 * lease's socket, neither for themselves nor for later programs. */
static void add_vendors(
	struct binds *binds, const struct clv_namespace *ns, const char *to)
{
	struct clv_bind *bind = &binds->items[binds->n];

	add_bind(binds, ns->vendors, to);
	bind->entries = binds->entries;
	bind->n_entries = list_entries(ns, binds->entries);
}

static void close_binds(struct binds *binds)
{
	while (binds->n > 0)
		clv_bind_close(&binds->items[--binds->n]);
}

static void add_mounts(struct binds *binds, const struct clv_bind_mounts *mounts)
{
	if (mounts->n_copies > 0)
		add_bind(binds, mounts->original, mounts->real);
	for (size_t i = 0; i < mounts->n_copies; i++)
		add_bind(binds, mounts->shim, mounts->copies[i]);
}

/* Lists the mounts in their order: an original is mounted before it is covered. */
static void list_binds(const struct clv_namespace *ns, struct binds *binds)
{
	if (ns->original[0])
		add_bind(binds, ns->original, ns->vendors_real);
	add_vendors(binds, ns, vendors_folder(ns));
	if (ns->own[0])
		add_vendors(binds, ns, ns->own);
	for (size_t i = 0; i < CLV_ARRAY_SIZE(ns->mounts); i++)
		add_mounts(binds, &ns->mounts[i]);
}

static int write_vendors(const struct clv_namespace *ns, struct clv_error *err)
{
	struct clv_mount_entry entries[ENTRIES_MAX];
	size_t n = list_entries(ns, entries);
	int r = 0;

	for (size_t i = 0; r == 0 && i < n; i++) {
		char path[CLV_PATH_MAX + 64];

		snprintf(path, sizeof(path), "%s/%s", ns->vendors, entries[i].name);
		r = entries[i].is_link ? make_link(entries[i].text, ns->vendors,
						 entries[i].name, err)
				       : write_file(path, entries[i].text, err);
	}
	return r;
}

int clv_namespace_each(const struct clv_namespace *ns,
	void (*each)(void *userdata, const char *from, const char *to), void *userdata,
	struct clv_error *err)
{
	struct binds binds = {};
	int r = write_vendors(ns, err);

	if (r < 0)
		return r;
	list_binds(ns, &binds);
	/* The files are not the tenant's where others mount them: a folder need not be
	 * covered with itself. */
	for (size_t i = 0; i < binds.n; i++) {
		if (binds.items[i].from != binds.items[i].to)
			each(userdata, binds.items[i].from, binds.items[i].to);
	}
	close_binds(&binds);
	return 0;
}

/* Whether AppArmor allows user namespaces only to programs with a profile, as Ubuntu's
 * does since 23.10. */
static bool does_apparmor_restrict(void)
{
	const char *chosen = getenv("CLEAVE_APPARMOR_SETTING"); /* for tests */
	_cleanup_close_ int fd =
		open(chosen ? chosen : APPARMOR_SETTING, O_RDONLY | O_CLOEXEC);
	char first = '0';

	return geteuid() != 0 && fd >= 0 && read(fd, &first, 1) == 1 && first != '0';
}

const char *clv_namespace_remedy(void)
{
	if (!does_apparmor_restrict())
		return "allow user namespaces (user.max_user_namespaces, or the "
		       "container's profile)";
	if (access(APPARMOR_PROFILE, F_OK) == 0)
		return "AppArmor lets only programs with a profile make user namespaces: "
		       "as root run apparmor_parser -r " APPARMOR_PROFILE
		       ", and start cleave by the path that the profile is for";
	return "AppArmor lets only programs with a profile make user namespaces: install "
	       "the package cleave, which has one, or as root set "
	       "kernel.apparmor_restrict_unprivileged_userns to 0";
}

static int fail_namespace(const struct clv_error *why, struct clv_error *err)
{
	return clv_error_set(err, -EPERM,
		"no mount namespace can be made (%.60s), which enforces the share on "
		"programs that drop their environment: %s, or add --no-namespace",
		why->msg,
		why->code == -EMFILE ? "raise the limit of open files (ulimit -n)"
				     : clv_namespace_remedy());
}

int clv_namespace_enter(const struct clv_namespace *ns, struct clv_error *err)
{
	struct binds binds = {};
	struct clv_error why = {};
	int r;

	list_binds(ns, &binds);
	r = enter_mount_namespace(&why);
	for (size_t i = 0; r == 0 && i < binds.n; i++)
		r = clv_bind_mount(&binds.items[i], &why);
	close_binds(&binds);
	if (r < 0)
		return fail_namespace(&why, err);
	if (getenv("OCL_ICD_VENDORS"))
		setenv("OCL_ICD_VENDORS", vendors_folder(ns), 1);
	if (getenv("OPENCL_VENDOR_PATH"))
		setenv("OPENCL_VENDOR_PATH", vendors_folder(ns), 1);

	return 0;
}

int clv_namespace_try(struct clv_error *err)
{
	struct clv_error why = {};
	int pipe_fds[2], status;
	ssize_t n;
	pid_t child;

	if (pipe2(pipe_fds, O_CLOEXEC) < 0)
		return clv_error_errno(err, errno, "cannot make a pipe");
	child = fork();
	if (child == 0) {
		int r = enter_mount_namespace(&why);

		(void)!write(pipe_fds[1], &why, sizeof(why));
		_exit(r < 0);
	}
	close(pipe_fds[1]);
	n = read(pipe_fds[0], &why, sizeof(why));
	close(pipe_fds[0]);
	if (child < 0 || waitpid(child, &status, 0) < 0 || n != sizeof(why))
		return clv_error_set(
			err, -EIO, "cannot test a namespace in a child process");
	if (!WIFEXITED(status) || WEXITSTATUS(status) != 0)
		return clv_error_set(err, -EPERM, "%s", why.msg);

	return 0;
}

void clv_namespace_remove(struct clv_namespace *ns)
{
	static const char *const files[] = {
		"vendors.real/chosen.icd",
		(CLV_DRIVERS_REAL "/" CLV_DRIVER_HSA),
		CLV_GATE_OPENCL,
		CLV_GATE_CUDA,
		CLV_GATE_HIP,
		CLV_LEASE_OPEN,
	};
	static const char *const folders[] = {"vendors", "vendors.real", CLV_DRIVERS,
		CLV_DRIVERS_REAL, CLV_DRIVERS_BELOW};
	char path[CLV_PATH_MAX + 32];

	if (ns->is_own_folder)
		clv_program_folder_remove(ns->folder);
	for (size_t i = 0; !ns->is_own_folder && i < CLV_ARRAY_SIZE(files); i++) {
		snprintf(path, sizeof(path), "%s/%s", ns->folder, files[i]);
		unlink(path);
	}
	for (size_t i = 0; i < CLV_ARRAY_SIZE(ns->mounts); i++) {
		if (ns->mounts[i].n_copies > 0) {
			unlink(ns->mounts[i].shim);
			unlink(ns->mounts[i].real);
		}
		clv_bind_mounts_done(&ns->mounts[i]);
	}
	for (size_t i = 0; !ns->is_own_folder && i < CLV_ARRAY_SIZE(folders); i++) {
		snprintf(path, sizeof(path), "%s/%s", ns->folder, folders[i]);
		rmdir(path);
	}
}

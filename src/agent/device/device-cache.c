/* SPDX-License-Identifier: Apache-2.0 */
/* The cache of the probe's answer, by which the agent starts without a driver.  The key
 * covers everything visible in files that can change the drivers' answer without a
 * reboot.  A driver that answers differently for another reason is asked again after the
 * next boot. */
#include "agent/device/device-cache.h"

#include "agent/os/processes.h"
#include "base/cleanup.h"
#include "base/hash.h"

#include <dirent.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#define VENDORS_FOLDER "/etc/OpenCL/vendors"
#define MAX_NAMES 64

/* Prefixes of variables by which loaders and drivers choose what they show. */
static const char *const environment_prefixes[] = {
	"OCL_",
	"OPENCL_VENDOR",
	"POCL_",
	"CUDA_",
	"NVIDIA_",
	"ROCR_",
	"HIP_",
	"GPU_",
	"RUSTICL_",
	"ZE_",
	"LD_LIBRARY_PATH",
	"CLEAVE_DRIVER_ROOT",
};

/* Where the loader searches a library name without a path; its own cache is in the key
 * too. */
static const char *const library_folders[] = {
	"/usr/lib/x86_64-linux-gnu",
	"/usr/lib/aarch64-linux-gnu",
	"/usr/lib64",
	"/usr/lib",
	"/usr/local/lib",
	"/lib",
};

static const char *const watched_files[] = {
	"/etc/ld.so.cache",
	"/dev/dri",
	"/dev/kfd",
	"/dev/nvidia0",
	"/dev/nvidiactl",
	"/proc/self/exe",
};

extern char **environ;

static void add_bytes(uint64_t *hash, const void *data, size_t n_bytes)
{
	*hash = clv_fnv1a(*hash, data, n_bytes);
}

static void add_text(uint64_t *hash, const char *text)
{
	add_bytes(hash, text, strlen(text) + 1);
}

static bool add_file(uint64_t *hash, const char *path)
{
	struct stat st;

	if (stat(path, &st) < 0)
		return false;
	add_text(hash, path);
	add_bytes(hash, &st.st_ino, sizeof(st.st_ino));
	add_bytes(hash, &st.st_size, sizeof(st.st_size));
	add_bytes(hash, &st.st_mtim.tv_sec, sizeof(st.st_mtim.tv_sec));
	add_bytes(hash, &st.st_mtim.tv_nsec, sizeof(st.st_mtim.tv_nsec));
	return true;
}

static void add_library(uint64_t *hash, const char *name)
{
	char path[1024];

	if (strchr(name, '/')) {
		add_file(hash, name);
		return;
	}
	for (size_t i = 0; i < CLV_ARRAY_SIZE(library_folders); i++) {
		snprintf(path, sizeof(path), "%s/%s", library_folders[i], name);
		if (add_file(hash, path))
			return;
	}
}

/* An .icd file holds the name of the driver's library. */
static void add_icd(uint64_t *hash, const char *path)
{
	char name[512];
	_cleanup_close_ int fd = -1;
	ssize_t length;

	if (!add_file(hash, path))
		return;
	fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
	length = fd < 0 ? -1 : read(fd, name, sizeof(name) - 1);
	if (length <= 0)
		return;
	name[length] = '\0';
	name[strcspn(name, "\n\r")] = '\0';
	add_library(hash, name);
}

static int by_name(const void *a, const void *b)
{
	return strcmp(a, b);
}

static void add_vendors(uint64_t *hash, const char *folder)
{
	char names[MAX_NAMES][256], path[1280];
	size_t n_names = 0;
	const struct dirent *entry;
	DIR *open_folder = opendir(folder);

	if (!open_folder) {
		/* The loader takes the path of one .icd file as well. */
		add_icd(hash, folder);
		return;
	}
	add_text(hash, folder);
	while (n_names < MAX_NAMES && (entry = readdir(open_folder))) {
		if (entry->d_name[0] != '.')
			memcpy(names[n_names++], entry->d_name, sizeof(names[0]));
	}
	closedir(open_folder);
	qsort(names, n_names, sizeof(names[0]), by_name);
	for (size_t i = 0; i < n_names; i++) {
		snprintf(path, sizeof(path), "%.1000s/%s", folder, names[i]);
		add_icd(hash, path);
	}
}

static void add_environment(uint64_t *hash)
{
	for (char **entry = environ; *entry; entry++) {
		for (size_t i = 0; i < CLV_ARRAY_SIZE(environment_prefixes); i++) {
			const char *prefix = environment_prefixes[i];

			if (strncmp(*entry, prefix, strlen(prefix)) == 0)
				add_text(hash, *entry);
		}
	}
}

void clv_device_cache_key(char ret[17])
{
	static const char *const folder_variables[] = {
		"OCL_ICD_VENDORS", "OPENCL_VENDOR_PATH"};
	uint64_t hash = CLV_FNV1A_START;
	char boot_id[40];

	clv_process_boot_id(boot_id);
	add_text(&hash, CLV_VERSION);
	add_text(&hash, boot_id);
	add_vendors(&hash, VENDORS_FOLDER);
	for (size_t i = 0; i < CLV_ARRAY_SIZE(folder_variables); i++) {
		const char *folder = getenv(folder_variables[i]);

		if (folder)
			add_vendors(&hash, folder);
	}
	add_library(&hash, "libOpenCL.so.1");
	for (size_t i = 0; i < CLV_ARRAY_SIZE(watched_files); i++)
		add_file(&hash, watched_files[i]);
	add_environment(&hash);
	snprintf(ret, 17, "%016" PRIx64, hash);
}

json_t *clv_device_cache_load(const char *folder, const char *key)
{
	char path[1280];
	const char *found;
	json_t *answer;

	snprintf(path, sizeof(path), "%.1000s/devices.json", folder);
	answer = json_load_file(path, 0, NULL);
	found = json_string_value(json_object_get(answer, "key"));
	if (found && strcmp(found, key) == 0)
		return answer;
	json_decref(answer);
	return NULL;
}

void clv_device_cache_save(const char *folder, const char *key, const json_t *answer)
{
	char path[1280], partial[1288];
	json_t *copy = json_copy((json_t *)(uintptr_t)answer);

	if (!copy)
		return;
	json_object_set_new(copy, "key", json_string(key));
	snprintf(path, sizeof(path), "%.1000s/devices.json", folder);
	snprintf(partial, sizeof(partial), "%s.new", path);
	if (json_dump_file(copy, partial, JSON_INDENT(1)) < 0 ||
		rename(partial, path) < 0)
		unlink(partial);
	json_decref(copy);
}

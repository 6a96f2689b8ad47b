/* SPDX-License-Identifier: Apache-2.0 */
/* Finds and identifies the OpenCL loader that a program would use. */
#include "cli/launch/loader.h"

#include "base/cleanup.h"
#include "cli/launch/image.h"
#include "cli/launch/libraries.h"

#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

bool clv_loader_read(const char *path, struct clv_icd_loader *ret)
{
	_cleanup_close_ int fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	struct stat st;
	void *bytes;

	if (fd < 0 || fstat(fd, &st) < 0 || !S_ISREG(st.st_mode) || st.st_size == 0)
		return false;
	bytes = mmap(NULL, (size_t)st.st_size, PROT_READ, MAP_PRIVATE, fd, 0);
	if (bytes == MAP_FAILED)
		return false;
	clv_icd_loader_identify(bytes, (size_t)st.st_size, ret);
	munmap(bytes, (size_t)st.st_size);
	return true;
}

/* Keeps the first path that has a library for this processor. */
static void keep_first(void *userdata, const char *path)
{
	char *found = userdata;
	struct clv_image image, self;
	_cleanup_close_ int fd = -1;

	if (found[0])
		return;
	fd = open(path, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd >= 0 && clv_image_read(fd, &image) && clv_image_read_self(&self) &&
		clv_image_is_alike(&image, &self))
		snprintf(found, CLV_PATH_MAX, "%s", path);
}

bool clv_loader_find(
	const char *program, char ret_path[CLV_PATH_MAX], struct clv_icd_loader *ret)
{
	struct clv_image_paths own = {};
	_cleanup_close_ int fd = -1;

	if (program)
		fd = open(program, O_RDONLY | O_NONBLOCK | O_CLOEXEC);
	if (fd >= 0)
		clv_image_read_paths(fd, program, &own);
	ret_path[0] = '\0';
	if (!own.is_after_environment)
		clv_libraries_in(own.list, CLV_ICD_LOADER_SONAME, keep_first, ret_path);
	clv_libraries_in(
		getenv("LD_LIBRARY_PATH"), CLV_ICD_LOADER_SONAME, keep_first, ret_path);
	clv_libraries_in(own.list, CLV_ICD_LOADER_SONAME, keep_first, ret_path);
	clv_libraries_each(CLV_ICD_LOADER_SONAME, keep_first, ret_path);
	return ret_path[0] && clv_loader_read(ret_path, ret);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* A process that uses the device and forks a child that does the same, for some
 * generations; each prints its number of descriptors.
 *
 * usage: chain GENERATIONS */
#include <CL/cl.h>
#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

static void use_device(void)
{
	cl_platform_id platform;
	cl_device_id device;
	cl_ulong n_bytes;

	if (clGetPlatformIDs(1, &platform, NULL) != CL_SUCCESS ||
		clGetDeviceIDs(platform, CL_DEVICE_TYPE_ALL, 1, &device, NULL) !=
			CL_SUCCESS ||
		clGetDeviceInfo(device, CL_DEVICE_GLOBAL_MEM_SIZE, sizeof(n_bytes),
			&n_bytes, NULL) != CL_SUCCESS)
		exit(1);
}

static int count_descriptors(void)
{
	DIR *folder = opendir("/proc/self/fd");
	int n = 0;

	while (folder && readdir(folder))
		n++;
	closedir(folder);
	return n;
}

int main(int argc, char **argv)
{
	int n = argc == 2 ? atoi(argv[1]) : 1, status = 0;

	for (; n > 0; n--) {
		pid_t child;

		use_device();
		printf("%d\n", count_descriptors());
		fflush(stdout);
		child = n > 1 ? fork() : -1;
		if (child == 0)
			continue;
		if (child > 0 && (waitpid(child, &status, 0) != child || status != 0))
			return 1;
		return 0;
	}
	return 0;
}

/* SPDX-License-Identifier: Apache-2.0 */
/* Who has the device file of a GPU of NVIDIA's open, in a /proc of this test. */
#include "bridge/libvirt/domain/openers.h"

#include "base/error.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#define GPU "0000:3b:00.0"
#define OTHER "0000:5e:00.0"

static char proc[] = "/tmp/clv-vm-openers-XXXXXX";

static void __attribute__((format(printf, 1, 2))) run(const char *format, ...)
{
	char command[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(command, sizeof(command), format, args);
	va_end(args);
	assert_int_equal(system(command), 0);
}

static void add_gpu(const char *address, int minor)
{
	run("cd %s && mkdir -p driver/nvidia/gpus/%s && printf 'Model: \\t\\t NVIDIA "
	    "L40S\\nDevice Minor: \\t %d\\n' >driver/nvidia/gpus/%s/information",
		proc, address, minor, address);
}

static void add_process(int pid, const char *command, const char *file)
{
	run("cd %s && mkdir -p %d/fd && echo %s >%d/comm && ln -s pipe:[7] %d/fd/0 && "
	    "ln -s %s %d/fd/4",
		proc, pid, command, pid, pid, file, pid);
}

static int set_up(void **state)
{
	snprintf(proc, sizeof(proc), "/tmp/clv-vm-openers-XXXXXX");
	return mkdtemp(proc) ? 0 : -1;
}

static int tear_down(void **state)
{
	run("rm -r %s", proc);
	return 0;
}

static void test_open(void **state)
{
	struct clv_error err = {0};

	add_gpu(GPU, 1);
	add_gpu(OTHER, 11);
	add_process(812, "dcgm-exporter", "/dev/nvidia1");
	assert_int_equal(clv_vm_check_openers(proc, GPU, false, &err), -EBUSY);
	assert_non_null(
		strstr(err.msg, "process 812 (dcgm-exporter) has /dev/nvidia1 open"));
	assert_non_null(strstr(err.msg, "driverctl set-override " GPU " vfio-pci"));
	assert_int_equal(clv_vm_check_openers(proc, OTHER, false, &err), 0);
}

/* The agent can be asked to close it, and is looked for again after that. */
static void test_open_in_the_agent(void **state)
{
	struct clv_error err = {0};

	add_gpu(GPU, 1);
	add_process(811, "cleaved", "/dev/nvidia1");
	assert_int_equal(clv_vm_check_openers(proc, GPU, true, &err), 0);
	assert_int_equal(clv_vm_check_openers(proc, GPU, false, &err), -EBUSY);
	add_process(812, "dcgm-exporter", "/dev/nvidia1");
	assert_int_equal(clv_vm_check_openers(proc, GPU, true, &err), -EBUSY);
	assert_non_null(strstr(err.msg, "process 812"));
	assert_true(clv_vm_is_nvidias(proc, GPU));
	assert_false(clv_vm_is_nvidias(proc, OTHER));
}

/* The file of all GPUs counts for none. */
static void test_closed(void **state)
{
	struct clv_error err = {0};

	add_gpu(GPU, 1);
	add_process(812, "nvtop", "/dev/nvidiactl");
	add_process(813, "train", "/dev/nvidia10");
	run("mkdir %s/814", proc);
	assert_int_equal(clv_vm_check_openers(proc, GPU, false, &err), 0);
}

/* That of another driver, or of none. */
static void test_other_driver(void **state)
{
	struct clv_error err = {0};

	add_process(812, "train", "/dev/nvidia0");
	assert_int_equal(clv_vm_check_openers(proc, GPU, false, &err), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_open, set_up, tear_down),
		cmocka_unit_test_setup_teardown(
			test_open_in_the_agent, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_closed, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_other_driver, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

/* SPDX-License-Identifier: Apache-2.0 */
/* The IOMMU group of a GPU that a virtual machine gets as a whole, in a sysfs of this
 * test. */
#include "bridge/libvirt/domain/group.h"

#include "base/error.h"

#include <errno.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#define GPU "0000:01:00.0"
#define SOUND "0000:01:00.1"
#define BRIDGE "0000:00:01.0"

static char sysfs[] = "/tmp/clv-vm-group-XXXXXX";

static void __attribute__((format(printf, 1, 2))) run(const char *format, ...)
{
	char command[1024];
	va_list args;

	va_start(args, format);
	vsnprintf(command, sizeof(command), format, args);
	va_end(args);
	assert_int_equal(system(command), 0);
}

static void add_function(const char *address, const char *driver)
{
	run("cd %s && mkdir -p groups/7/devices bus/pci/devices/%s && "
	    "ln -s ../../../bus/pci/devices/%s groups/7/devices/%s",
		sysfs, address, address, address);
	if (driver)
		run("cd %s && mkdir -p drivers/%s && "
		    "ln -sfn ../../../../drivers/%s bus/pci/devices/%s/driver",
			sysfs, driver, driver, address);
}

static int set_up(void **state)
{
	snprintf(sysfs, sizeof(sysfs), "/tmp/clv-vm-group-XXXXXX");
	return mkdtemp(sysfs) ? 0 : -1;
}

static int tear_down(void **state)
{
	run("rm -r %s", sysfs);
	return 0;
}

static void add_gpu(void)
{
	add_function(GPU, "nvidia");
	run("ln -s ../../../../groups/7 %s/bus/pci/devices/" GPU "/iommu_group", sysfs);
}

static void test_alone(void **state)
{
	struct clv_error err = {0};

	assert_int_equal(clv_vm_check_group(sysfs, GPU, &err), 0);
	add_gpu();
	add_function(BRIDGE, "pcieport");
	assert_int_equal(clv_vm_check_group(sysfs, GPU, &err), 0);
}

static void test_sound(void **state)
{
	struct clv_error err = {0};

	add_gpu();
	add_function(SOUND, "snd_hda_intel");
	assert_int_equal(clv_vm_check_group(sysfs, GPU, &err), -ENOTSUP);
	assert_string_equal(err.msg, SOUND
		", which has the driver snd_hda_intel, is in the IOMMU group of " GPU
		": bind it to vfio-pci, as with driverctl set-override " SOUND
		" vfio-pci");
	run("mkdir %s/drivers/vfio-pci && ln -sfn ../../../../drivers/vfio-pci "
	    "%s/bus/pci/devices/" SOUND "/driver",
		sysfs, sysfs);
	assert_int_equal(clv_vm_check_group(sysfs, GPU, &err), 0);
}

static void test_no_group(void **state)
{
	struct clv_error err = {0};

	add_function(GPU, "nvidia");
	assert_int_equal(clv_vm_check_group(sysfs, GPU, &err), -ENOTSUP);
	assert_non_null(strstr(err.msg, "turn the IOMMU on"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(test_alone, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_sound, set_up, tear_down),
		cmocka_unit_test_setup_teardown(test_no_group, set_up, tear_down),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}

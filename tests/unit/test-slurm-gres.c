/* SPDX-License-Identifier: Apache-2.0 */
/* gres.conf of nodes as in the agent's API, with and without the driver's list of device
 * files. */
#include "bridge/slurm/gres.h"

#include "base/cleanup.h"

#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

static char root[] = "/tmp/cleave-gres-XXXXXX";

static char *conf_of(const char *node_text, const char *under)
{
	struct clv_slurm_gres how = {"n1", under};
	json_t *node = json_loads(node_text, 0, NULL);
	char *text = NULL;
	size_t size = 0;
	FILE *out = open_memstream(&text, &size);

	assert_non_null(node);
	clv_slurm_gres_write(out, &how, node);
	fclose(out);
	json_decref(node);
	return text;
}

static const char whole[] = "{\"devices\": [{\"name\": \"gpu0\", \"scheme\": \"none\"},"
			    "{\"name\": \"gpu1\", \"scheme\": \"cores\","
			    " \"partitions\": [{\"profile\": \"cores:1\"}]}]}";

static void test_shares(void **state)
{
	_cleanup_free_ char *text = conf_of(whole, "");

	assert_string_equal(text, "# gres.conf\n"
				  "NodeName=n1 Name=cleave Count=200\n\n"
				  "# slurm.conf: add these values to GresTypes and to "
				  "the line of the node.\n"
				  "GresTypes=cleave\n"
				  "NodeName=n1 Gres=cleave:200\n\n"
				  "# plugstack.conf: full= is what happens to a batch "
				  "script for which there is no room.\n"
				  "optional spank_cleave.so full=requeue\n");
}

static const char mig[] =
	"{\"devices\": [{\"name\": \"gpu0\", \"scheme\": \"mig\", \"index\": 1,"
	" \"pci_address\": \"0000:3b:00.0\", \"partitions\": ["
	"{\"profile\": \"1g.10gb\", \"driver_id\": 7, \"parts\": []},"
	"{\"profile\": \"1g.10gb+me\", \"driver_id\": 8, \"parts\": []},"
	"{\"profile\": \"2g.20gb\", \"driver_id\": 9, \"half_made\": true},"
	"{\"profile\": \"3g.40gb\", \"driver_id\": 2, \"parts\": ["
	"{\"profile\": \"1c.3g.40gb\", \"driver_id\": 0},"
	"{\"profile\": \"2c.3g.40gb\", \"driver_id\": 1}]}]}]}";

/* Minors by the driver's table: 3 and 135 for each GPU, 9 for each instance. */
static void test_mig(void **state)
{
	_cleanup_free_ char *text = conf_of(mig, root);

	assert_non_null(strstr(text,
		"NodeName=n1 Name=gpu Type=1g.10gb MultipleFiles=/dev/nvidia1,"
		"/dev/nvidia-caps/nvidia-cap201,/dev/nvidia-caps/nvidia-cap202\n"));
	assert_non_null(strstr(text, "Type=1g.10gb_me MultipleFiles="));
	assert_null(strstr(text, "2g.20gb"));
	assert_non_null(strstr(text,
		"Type=2c.3g.40gb MultipleFiles=/dev/nvidia1,/dev/nvidia-caps/"
		"nvidia-cap156,/dev/nvidia-caps/nvidia-cap158\n"));
	assert_non_null(strstr(text, "GresTypes=gpu\n"));
	assert_non_null(strstr(text, "NodeName=n1 Gres=gpu:1g.10gb:1,gpu:1g.10gb_me:1,"
				     "gpu:1c.3g.40gb:1,gpu:2c.3g.40gb:1\n"));
	assert_null(strstr(text, "Name=cleave"));
}

static void write_file(const char *path, const char *text)
{
	char name[256], part[256];
	FILE *file;

	snprintf(name, sizeof(name), "%s/%s", root, path);
	for (char *slash = name + strlen(root) + 1; (slash = strchr(slash, '/'));
		slash++) {
		snprintf(part, sizeof(part), "%.*s", (int)(slash - name), name);
		mkdir(part, 0700);
	}
	file = fopen(name, "we");
	assert_non_null(file);
	fputs(text, file);
	fclose(file);
}

static void test_the_drivers_word(void **state)
{
	_cleanup_free_ char *text = NULL;

	write_file("proc/driver/nvidia/gpus/0000:3b:00.0/information",
		"Model: \t\t A100\nDevice Minor: \t 4\n");
	write_file("proc/driver/nvidia/capabilities/gpu4/mig/gi7/access",
		"DeviceFileMinor: 600\nDeviceFileMode: 256\n");
	write_file("proc/driver/nvidia/capabilities/gpu4/mig/gi7/ci0/access",
		"DeviceFileMinor: 601\n");
	text = conf_of(mig, root);
	assert_non_null(
		strstr(text, "Type=1g.10gb MultipleFiles=/dev/nvidia4,/dev/nvidia-caps/"
			     "nvidia-cap600,/dev/nvidia-caps/nvidia-cap601\n"));
}

static const char others[] =
	"{\"devices\": [{\"name\": \"gpu0\", \"scheme\": \"xcp\", \"partitions\": ["
	"{\"profile\": \"CPX/NPS4\", \"address\": \"renderD129\"},"
	"{\"profile\": \"CPX/NPS4\", \"address\": \"renderD130\"}]},"
	"{\"name\": \"gpu1\", \"scheme\": \"vf\", \"vf\": {\"functions\": ["
	"{\"address\": \"0000:05:00.1\", \"driver\": \"vfio-pci\", \"iommu_group\": 17},"
	"{\"address\": \"0000:05:00.2\", \"driver\": \"xe\", \"iommu_group\": 18},"
	"{\"address\": \"0000:05:00.3\", \"driver\": \"\", \"iommu_group\": -1}]},"
	"\"partitions\": [{\"profile\": \"vf:3\", \"address\": \"0000:05:00.1\"},"
	"{\"profile\": \"vf:3\", \"address\": \"0000:05:00.2\"},"
	"{\"profile\": \"vf:3\", \"address\": \"0000:05:00.3\"}]},"
	"{\"name\": \"gpu2\", \"scheme\": \"none\"}]}";

static void test_other_schemes(void **state)
{
	_cleanup_free_ char *text = NULL;

	write_file("sys/bus/pci/devices/0000:05:00.2/drm/renderD140/dev", "226:140\n");
	text = conf_of(others, root);
	assert_non_null(strstr(text, "Type=CPX_NPS4 File=/dev/dri/renderD129\n"));
	assert_non_null(strstr(text, "Type=CPX_NPS4 File=/dev/dri/renderD130\n"));
	assert_non_null(strstr(text, "Type=vf_3 File=/dev/vfio/17\n"));
	assert_non_null(strstr(text, "Type=vf_3 File=/dev/dri/renderD140\n"));
	assert_non_null(strstr(text, "GresTypes=gpu,cleave\n"));
	assert_non_null(
		strstr(text, "NodeName=n1 Gres=gpu:CPX_NPS4:2,gpu:vf_3:2,cleave:100\n"));
}

static int make_root(void **state)
{
	return mkdtemp(root) ? 0 : -1;
}

static int remove_root(void **state)
{
	char command[64];

	snprintf(command, sizeof(command), "rm -rf %s", root);
	return system(command);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(test_shares),
		cmocka_unit_test(test_mig),
		cmocka_unit_test(test_the_drivers_word),
		cmocka_unit_test(test_other_schemes),
	};

	return cmocka_run_group_tests(tests, make_root, remove_root);
}

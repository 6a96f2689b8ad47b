/* SPDX-License-Identifier: Apache-2.0 */
/* cleave-vms hook: libvirt runs it before a virtual machine starts, with its XML on
 * stdin, and starts it only where the exit code is 0.  The reason goes to stderr, which
 * libvirt writes into its log and into the error of the start.  libvirt waits for the
 * hook, so it calls no function of libvirt. */
#include "base/clock.h"
#include "base/error.h"
#include "bridge/libvirt/domain/compare.h"
#include "cli/frame/cli.h"
#include "cli/frame/input.h"
#include "cli/vm/actions.h"
#include "cli/vm/close.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>

#define XML_MAX ((size_t)4 << 20)
/* After a boot the agent applies the layout, which makes the partitions, while libvirt
 * starts virtual machines. */
#define PATIENCE_S 90
#define PAUSE_MS 200

static void pause_ms(long ms)
{
	const struct timespec pause = {
		.tv_sec = ms / 1000, .tv_nsec = ms % 1000 * 1000000};

	nanosleep(&pause, NULL);
}

/* Whether a virtual machine may start, and what to say if not. */
struct verdict {
	int code;      /* 0: it may; else an exit code */
	bool may_come; /* what is missing may come: the agent starts, or applies a layout
			*/
	char text[1024];
};

/* Whether the agent is about to make partitions of the layout that it keeps. */
static bool is_applying(struct clv_client *client)
{
	_cleanup_json_ json_t *layout = NULL;
	json_t *device;
	size_t i;

	if (clv_client_ready(client, NULL) < 0)
		return true;
	if (clv_client_layout_get(client, true, &layout, NULL) < 0)
		return false;
	json_array_foreach (json_object_get(layout, "devices"), i, device) {
		const char *state = clv_json_text(device, "state");

		if (strcmp(state, "pending") == 0 || strcmp(state, "applying") == 0)
			return true;
	}
	return false;
}

/* After its start the agent answers for its devices only when all of its drivers have
 * been probed; they are needed only for what the node does not show. */
static int read_inventory(struct clv_client *client, struct clv_vm_inventory *ret,
	struct clv_client_error *err)
{
	_cleanup_json_ json_t *node = NULL;
	_cleanup_json_ json_t *devices = NULL;
	_cleanup_json_ json_t *leases = NULL;
	int r = clv_client_node(client, &node, err);

	if (r >= 0)
		r = clv_client_leases(client, &leases, err);
	if (r >= 0)
		r = clv_vm_inventory_read(node, NULL, leases, ret);
	if (r < 0 || clv_vm_inventory_has_all(ret))
		return r;
	clv_vm_inventory_clear(ret);
	r = clv_client_devices(client, &devices, err);
	return r < 0 ? r : clv_vm_inventory_read(node, devices, leases, ret);
}

static int read_agent(const struct clv_common *common, struct clv_vm_inventory *ret,
	bool *ret_is_applying, struct clv_client_error *err)
{
	const struct clv_client_options options = clv_cli_options(common, false);
	_cleanup_client_ struct clv_client *client = NULL;
	int r = clv_client_new(&options, &client, err);

	if (r < 0)
		return r;
	*ret_is_applying = is_applying(client);
	return read_inventory(client, ret, err);
}

static const struct clv_vm_difference *find_obstacle(
	const struct clv_vm_differences *differences)
{
	for (size_t i = 0; i < differences->n; i++) {
		if (clv_vm_difference_stops_start(differences->items[i].kind))
			return &differences->items[i];
	}
	return NULL;
}

static void judge(const struct clv_vm_inventory *inventory,
	const struct clv_vm_guest *guest, struct verdict *ret)
{
	struct clv_vm_differences found = {0};
	const struct clv_vm_difference *obstacle;

	if (clv_vm_compare(inventory, guest, 1, false, &found) < 0) {
		ret->code = CLV_EXIT_FAILED;
		return;
	}
	obstacle = find_obstacle(&found);
	if (obstacle) {
		ret->code = CLV_EXIT_NO_FIT;
		ret->may_come &= obstacle->kind == CLV_VM_PARTITION_GONE ||
				 obstacle->kind == CLV_VM_DEVICE_ELSEWHERE;
		clv_vm_difference_describe(obstacle, ret->text, sizeof(ret->text));
	}
	free(found.items);
}

static struct verdict check(
	const struct clv_common *common, const struct clv_vm_guest *guest)
{
	_cleanup_inventory_ struct clv_vm_inventory inventory = {0};
	struct verdict verdict = {0};
	struct clv_client_error err = {0};

	if (read_agent(common, &inventory, &verdict.may_come, &err) < 0) {
		verdict = (struct verdict){
			.code = clv_cli_exit_code(err.code), .may_come = true};
		snprintf(verdict.text, sizeof(verdict.text), "%s", err.msg);
		return verdict;
	}
	judge(&inventory, guest, &verdict);
	return verdict;
}

static struct verdict check_patiently(
	const struct clv_common *common, const struct clv_vm_guest *guest)
{
	uint64_t until_ns = clv_clock_boot_ns() + PATIENCE_S * UINT64_C(1000000000);

	for (;;) {
		struct verdict verdict = check(common, guest);

		if (verdict.code == 0 || !verdict.may_come ||
			clv_clock_boot_ns() >= until_ns)
			return verdict;
		pause_ms(PAUSE_MS);
	}
}

/* libvirt would hang in the driver, with all that wait for it.  Without an agent nothing
 * of cleave has the GPU open. */
static void close_gpus(const struct clv_common *common,
	const struct clv_vm_domain *domain, struct verdict *ret)
{
	const struct clv_client_options options = clv_cli_options(common, false);
	_cleanup_client_ struct clv_client *client = NULL;
	_cleanup_free_ const char **addresses =
		calloc(domain->n_hostdevs, sizeof(*addresses));
	struct clv_client_error ignored;
	struct clv_error err = {0};
	size_t n = 0;

	clv_client_new(&options, &client, &ignored);
	for (size_t i = 0; i < domain->n_hostdevs && addresses; i++) {
		const struct clv_vm_hostdev *hostdev = &domain->hostdevs[i];

		if (hostdev->is_managed && !hostdev->is_mdev)
			addresses[n++] = hostdev->address;
	}
	if (!addresses)
		clv_error_errno(&err, ENOMEM, "cannot close its GPUs");
	else if (clv_vm_close_gpus(client, addresses, n, &err) >= 0)
		return;
	ret->code = CLV_EXIT_NO_FIT;
	snprintf(ret->text, sizeof(ret->text), "%s", err.msg);
}

/* A machine without functions of the host is not cleave's.  Where it has none that cleave
 * has given to it, and no agent answers, its functions are others. */
static int check_domain(const struct clv_common *common, struct clv_vm_domain *domain)
{
	const struct clv_vm_guest guest = {.config = *domain, .is_persistent = true};
	struct verdict verdict;

	if (domain->n_hostdevs == 0)
		return 0;
	if (clv_vm_count_partitions(domain) > 0) {
		verdict = check_patiently(common, &guest);
	} else {
		verdict = check(common, &guest);
		if (verdict.code != CLV_EXIT_NO_FIT)
			verdict = (struct verdict){0};
	}
	if (verdict.code == 0)
		close_gpus(common, domain, &verdict);
	return verdict.code ? clv_cli_fail(verdict.code, "%s is not started: %s",
				      domain->name, verdict.text)
			    : 0;
}

int clv_vm_run_hook(const void *userdata, int argc, char **argv)
{
	_cleanup_input_ struct clv_input xml = {0};
	_cleanup_domain_ struct clv_vm_domain domain = {0};
	struct clv_error err = {0};
	int r;

	if (argc < 3 || strcmp(argv[1], "prepare") != 0 || strcmp(argv[2], "begin") != 0)
		return 0;
	r = clv_input_read("-", XML_MAX, &xml);
	if (r)
		return r;
	if (clv_vm_domain_parse(xml.text, xml.n_bytes, &domain, &err) < 0)
		return clv_cli_fail(CLV_EXIT_BAD_FILE,
			"the virtual machine %.100s is not started: %s", argv[0],
			err.msg);
	return check_domain(userdata, &domain);
}

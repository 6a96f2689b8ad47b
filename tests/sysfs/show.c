/* SPDX-License-Identifier: Apache-2.0 */
#include "show.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>

static const char *separator = "";
static bool is_empty = true;

static void key(const char *name)
{
	printf("%s\"%s\": ", separator, name);
	separator = ", ";
}

static void text(const char *name, const char *value)
{
	key(name);
	putchar('"');
	for (; *value; value++) {
		if (*value == '"' || *value == '\\')
			putchar('\\');
		putchar(*value);
	}
	putchar('"');
}

static void number(const char *name, long long value)
{
	key(name);
	printf("%lld", value);
}

static void truth(const char *name, bool value)
{
	key(name);
	printf(value ? "true" : "false");
}

static void open_object(const char *name)
{
	key(name);
	putchar('{');
	separator = "";
}

static void open_item(void)
{
	is_empty = false;
	printf("%s{", separator);
	separator = "";
}

static void open_list(const char *name)
{
	key(name);
	putchar('[');
	separator = "";
}

static void close_with(char c)
{
	putchar(c);
	separator = ", ";
}

static void show_holders(const struct clv_holders *holders)
{
	open_list("holders");
	for (size_t i = 0; i < holders->n; i++) {
		open_item();
		text("text", holders->items[i].text);
		number("pid", holders->items[i].pid);
		close_with('}');
	}
	close_with(']');
}

static void show_partition(
	const struct clv_node_device *device, const struct clv_partition *partition)
{
	open_item();
	text("profile", partition->profile);
	text("uuid", partition->uuid);
	text("address", partition->address);
	number("start", partition->start);
	number("size", partition->size);
	number("compute_units", partition->compute_units);
	number("memory_bytes", (long long)partition->memory_bytes);
	number("memory_part", partition->memory_part);
	number("io_die", clv_partition_io_die(device, partition));
	show_holders(&partition->holders);
	close_with('}');
}

static void show_modes(const char *name, uint32_t bits, const char *(*convert)(int))
{
	open_list(name);
	for (int i = 0; i < 32; i++) {
		const char *mode = bits & 1u << i ? convert(i) : NULL;

		if (mode) {
			printf("%s\"%s\"", separator, mode);
			separator = ", ";
		}
	}
	close_with(']');
}

static const char *compute_name(int bit)
{
	return bit < _CLV_COMPUTE_MODE_MAX ? clv_compute_mode_to_string(bit) : NULL;
}

static const char *memory_name(int bit)
{
	return clv_memory_mode_to_string(1u << bit);
}

static void show_xcp(const struct clv_xcp_state *xcp)
{
	open_object("xcp");
	truth("is_capable", xcp->is_capable);
	text("model", xcp->model ? xcp->model->name : "");
	number("dies", xcp->dies);
	text("compute", clv_compute_mode_to_string(xcp->compute));
	show_modes("memory", xcp->memory, memory_name);
	show_modes("requested_memory", xcp->requested_memory, memory_name);
	show_modes("compute_available", xcp->compute_available, compute_name);
	show_modes("memory_available", xcp->memory_available, memory_name);
	close_with('}');
}

static void show_quota(const struct clv_vf_quota *quota)
{
	open_object("quota");
	number("memory_bytes", (long long)quota->memory_bytes);
	number("exec_quantum_ms", quota->exec_quantum_ms);
	number("preempt_timeout_us", quota->preempt_timeout_us);
	number("contexts", quota->contexts);
	number("doorbells", quota->doorbells);
	text("priority", quota->priority);
	text("type", quota->type);
	text("driver", quota->driver);
	close_with('}');
}

static void show_function(const struct clv_vf *vf)
{
	open_item();
	number("number", vf->number);
	text("address", vf->address);
	text("driver", vf->driver);
	number("iommu_group", vf->iommu_group);
	number("n_group_others", vf->n_group_others);
	show_quota(&vf->quota);
	show_holders(&vf->holders);
	close_with('}');
}

static void show_vf(const struct clv_vf_state *vf)
{
	open_object("vf");
	truth("is_capable", vf->is_capable);
	text("why_not", vf->why_not);
	number("total", vf->total);
	number("counts", (long long)vf->counts);
	text("framework", clv_vf_framework_to_string(vf->framework));
	open_list("items");
	for (size_t i = 0; i < vf->n; i++)
		show_function(&vf->items[i]);
	close_with(']');
	open_list("types");
	for (size_t i = 0; i < vf->n_types; i++) {
		open_item();
		text("id", vf->types[i].id);
		text("name", vf->types[i].name);
		number("memory_bytes", (long long)vf->types[i].memory_bytes);
		number("max_instances", vf->types[i].max_instances);
		close_with('}');
	}
	close_with(']');
	close_with('}');
}

static void show_info(const struct clv_device *info)
{
	text("name", info->name);
	text("uuid", info->uuid);
	text("model", info->model);
	text("vendor", info->vendor);
	text("driver", info->driver);
	text("type", info->type);
	text("backend", info->backend);
	text("executor", info->executor);
	number("memory_bytes", (long long)info->memory_bytes);
	number("compute_units", info->compute_units);
}

static void show_device_in(const struct clv_node_device *device)
{
	open_item();
	show_info(&device->info);
	number("index", device->index);
	text("architecture", device->info.generation.architecture);
	text("pci_address", device->pci_address);
	text("hive", device->hive);
	number("numa_node", device->numa_node);
	text("cannot_divide", device->cannot_divide);
	text("scheme", clv_scheme_to_string(device->scheme));
	show_xcp(&device->xcp);
	show_vf(&device->vf);
	open_list("partitions");
	for (size_t i = 0; i < device->n_partitions; i++)
		show_partition(device, &device->partitions[i]);
	close_with(']');
	show_holders(&device->holders);
	close_with('}');
}

void show_device(const struct clv_node_device *device)
{
	separator = "";
	show_device_in(device);
}

void show_node(const struct clv_node *node)
{
	separator = "";
	open_item();
	open_list("devices");
	for (size_t i = 0; i < node->n_devices; i++)
		show_device_in(&node->devices[i]);
	close_with(']');
	open_list("problems");
	for (size_t i = 0; i < node->n_problems; i++)
		printf("%s\"%s\"", i ? ", " : "", node->problems[i]);
	close_with(']');
	close_with('}');
}

void show_error(int code, const char *message)
{
	separator = "";
	open_item();
	text("error", strerrorname_np(-code));
	text("message", message);
	close_with('}');
}

void show_text(const char *name, const char *value)
{
	separator = "";
	open_item();
	text(name, value);
	close_with('}');
}

void show_number(const char *name, long long value)
{
	separator = "";
	open_item();
	number(name, value);
	close_with('}');
}

void show_end(void)
{
	printf(is_empty ? "{\"ok\": true}\n" : "\n");
	fflush(stdout);
	is_empty = true;
}

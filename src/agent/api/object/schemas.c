/* SPDX-License-Identifier: Apache-2.0 */
/* The schemas of the API's objects. */
#include "agent/api/object/schemas.h"

#include "agent/driver/node-json.h"
#include "agent/os/json-fields.h"
#include "agent/record/device-fields.h"
#include "agent/record/event-fields.h"
#include "agent/record/lease-fields.h"
#include "agent/record/standing-fields.h"
#include "agent/record/tenant-fields.h"
#include "agent/record/token-fields.h"
#include "base/cleanup.h"

#include <stdio.h>
#include <string.h>

#define FIELDS(name) name, CLV_ARRAY_SIZE(name)
#define ALL(name) FIELDS(name), CLV_ARRAY_SIZE(name)

/* clang-format off */
static const struct clv_schema_field version[] = {
	{"version", "string", "of the agent"},
	{"api", "integer", "of this API"},
	{"pid", "integer", NULL},
	{"started_at", "time", NULL},
};

static const struct clv_schema_field readiness[] = {
	{"ready", "boolean", "the agent can grant leases"},
	{"state", "boolean", "the state file can be written"},
	{"devices", "boolean", "the drivers have answered"},
	{"code", "string?", "the code for programs, if it cannot"},
	{"detail", "string?", "one line: why it cannot, what would work"},
};

static const struct clv_schema_field problem[] = {
	{"type", "string", NULL},
	{"title", "string", NULL},
	{"status", "integer", NULL},
	{"code", "string", "the code for programs"},
	{"detail", "string", "one line: what, why, what would work"},
};

static const struct clv_schema_field reason[] = {
	{"reason", "string", "for people"},
};

static const struct clv_schema_field backup[] = {
	{"path", "string", "on the agent's machine"},
	{"bytes", "integer", NULL},
};

static const struct clv_schema_field caller[] = {
	{"subject", "string", NULL},
	{"uid", "integer?", "of a user of this machine"},
	{"scope", "admin|tenant|viewer", NULL},
	{"token", "Token?", NULL},
	{"node", "string", "the machine's name"},
	{"version", "string", "of the agent"},
	{"system", "boolean", "the agent serves all users"},
};

static const struct clv_schema_field health[] = {
	{"state", "ok|degraded|lost", "lost: nothing runs on it; degraded: a lease is placed on it only by name"},
	{"reasons", "[string]", "what is wrong and what would help, a line each"},
	{"since", "time?", "null: since the agent started"},
};

static const struct clv_schema_field driver_process[] = {
	{"pid", "integer", NULL},
	{"command", "string", NULL},
	{"uid", "integer?", NULL},
	{"lease", "string?", "null: it is in no lease"},
	{"has_lease_here", "boolean", "the lease is on this device, and has not ended"},
	{"reported", "boolean", "reported as a process that has no lease here"},
	{"memory_bytes", "integer?", "as the driver reports it"},
	{"utilization", "number?", "the driver's utilization of the device by it, 0 to 1"},
};

static const struct clv_schema_field device_list[] = {
	{"items", "[Device]", NULL},
	{"next", "integer?", NULL},
	{"problems", "[string]", "why a device is missing"},
};

static const struct clv_schema_field lease_list[] = {
	{"items", "[Lease]", NULL},
	{"next", "integer?", NULL},
	{"revision", "string", "of this list: with since= it gets what has changed after it"},
	{"whole", "boolean", "false: the items are those that have changed since"},
	{"ended", "[string]", "the ids of leases that have ended since"},
};

static const struct clv_schema_field lease_device[] = {
	{"name", "string", NULL},
	{"uuid", "string", NULL},
	{"root_uuid", "string", "of the device that it is a partition of, or its own"},
	{"pci_address", "string", "of that device; empty where it has none"},
	{"visible", "string", "what selects it in its vendor's runtime"},
	{"backend", "string", NULL},
	{"vendor", "string", NULL},
	{"numa_node", "integer?", NULL},
	{"partition", "Partition?", NULL},
};

static const struct clv_schema_field process[] = {
	{"pid", "integer", NULL},
	{"memory_used_bytes", "integer", NULL},
	{"attached_at", "time", NULL},
};

static const struct clv_schema_field share_range[] = {
	{"least", "number", "promised"},
	{"most", "number", NULL},
};

static const struct clv_schema_field sm[] = {
	{"fraction", "number", "of the device's multiprocessors or compute units, at once"},
	{"count", "integer?", "the same as a number of them"},
	{"first", "integer?", "the first of them, where the agent places them"},
	{"held_by", "mps|green_contexts|masks|nothing?", "null: not known of any process yet"},
	{"reason", "string?", "why nothing enforces it"},
};

static const struct clv_schema_field advice_part[] = {
	{"share", "number", NULL},
	{"memory_bytes", "integer", NULL},
	{"class", "latency|normal|batch", NULL},
	{"cap", "number", "where there is one"},
	{"profile", "string?", "of a proposal: in a partition of this profile"},
};

static const struct clv_schema_field advice[] = {
	{"lease", "string", NULL},
	{"name", "string", NULL},
	{"tenant", "string", NULL},
	{"device", "string", NULL},
	{"kind", "too_large|too_small|wrong_class|use_profile|idle|imbalanced", NULL},
	{"text", "string", "why, in one line"},
	{"current", "AdvicePart", NULL},
	{"proposed", "AdvicePart", "fits beside the proposals for the device's other leases"},
	{"expected_slowdown", "number", "in the proposal, while all other leases of the device compute"},
	{"confidence", "low|medium|high", NULL},
	{"observed_seconds", "integer", NULL},
};

static const struct clv_schema_field history[] = {
	{"of", "string", NULL},
	{"resolution", "integer", "seconds, 1 or 60"},
	{"from", "time", NULL},
	{"to", "time", NULL},
	{"columns", "[string]", NULL},
	{"start", "integer", "of the first row, in seconds since 1970"},
	{"step", "integer", "seconds from row to row"},
	{"rows", "[[number]?]", "null: nothing is known of that moment"},
};

static const struct clv_schema_field node_partition[] = {
	{"holders", "[Holder]", NULL},
	{"parts", "[NodePartition]", "its compute instances"},
	{"engines", "Engines?", NULL},
	{"io_die", "integer", "AMD: where it is known"},
};

static const struct clv_schema_field mig_profile[] = {
	{"name", "string", NULL},
	{"starts", "[integer]", NULL},
};

static const struct clv_schema_field mig_model[] = {
	{"name", "string", NULL},
	{"profiles", "[MigProfile]", NULL},
};

static const struct clv_schema_field mig_state[] = {
	{"model", "MigModel?", "null: not known"},
};

static const struct clv_schema_field xcp_state[] = {
	{"compute", "string", NULL},
	{"model", "string", NULL},
};

static const struct clv_schema_field virtual_function[] = {
	{"quota", "VfQuota", NULL},
	{"holders", "[Holder]", NULL},
};

static const struct clv_schema_field vf_state[] = {
	{"framework", "string", NULL},
	{"functions", "[VirtualFunction]", NULL},
	{"types", "[VgpuType]", NULL},
};

static const struct clv_schema_field node_device[] = {
	{"backend", "string", NULL},
	{"scheme", "none|mig|xcp|vf|cores", NULL},
	{"mig", "MigState?", NULL},
	{"xcp", "XcpState?", NULL},
	{"vf", "VfState", NULL},
	{"cores", "[integer]?", "the ids of its processors"},
	{"partitions", "[NodePartition]", NULL},
	{"holders", "[Holder]", NULL},
	{"engines", "Engines?", NULL},
	{"assignable", "whole|partitioned|sriov_off|none",
		"to virtual machines: as a whole; in partitions; capable of those, SR-IOV off"},
	{"why_not_assignable", "string?", "the reason of sriov_off and of none"},
};

static const struct clv_schema_field node[] = {
	{"name", "string", NULL},
	{"devices", "[NodeDevice]", NULL},
	{"problems", "[string]", "why a device is missing"},
};

static const struct clv_schema_field node_address[] = {
	{"name", "string", NULL},
	{"url", "string", NULL},
};

static const struct clv_schema_field layout[] = {
	{"layout", "string", "YAML"},
	{"resolved", "string", "of=wanted: the same with its devices by UUID; empty: not known"},
	{"devices", "[WantedDevice]", "of=wanted: whether it is applied on each device"},
};

static const struct clv_schema_field wanted_step[] = {
	{"kind", "string", NULL},
	{"partition", "string", NULL},
	{"text", "string", NULL},
};

static const struct clv_schema_field wanted_device[] = {
	{"name", "string", "empty: an agent has never seen it"},
	{"uuid", "string", "or its PCI address"},
	{"state", "pending|applying|applied|changed|busy|gone|failed|unresolved", NULL},
	{"why", "string", "why it is not applied"},
	{"steps", "[WantedStep]", "what is left to do, as of the last look"},
};

static const struct clv_schema_field plan_device[] = {
	{"name", "string", NULL},
	{"uuid", "string", "what the layout is kept for, not the name"},
	{"pci_address", "string", "empty where it has none"},
	{"model", "string", NULL},
	{"line", "integer", "of the rule that selects it"},
};

static const struct clv_schema_field left_device[] = {
	{"device", "string", NULL},
	{"uuid", "string", NULL},
	{"why", "string", NULL},
	{"steps", "[string]", "what would put it back"},
};

static const struct clv_schema_field plan_step[] = {
	{"number", "integer", NULL},
	{"kind", "string", NULL},
	{"text", "string", NULL},
	{"device", "string", NULL},
	{"partition", "string", NULL},
	{"needs", "[string]", NULL},
	{"affects", "[string]", NULL},
	{"why", "string", NULL},
};

static const struct clv_schema_field obstacle[] = {
	{"device", "string", NULL},
	{"partition", "string", NULL},
	{"why", "string", NULL},
	{"holders", "[Holder]", NULL},
};

static const struct clv_schema_field plan_share[] = {
	{"name", "string", NULL},
	{"where", "string", "the device or partition"},
	{"share", "number", NULL},
	{"memory_bytes", "integer", NULL},
	{"class", "latency|normal|batch", NULL},
};

static const struct clv_schema_field share_change[] = {
	{"change", "add|change|remove", NULL},
	{"name", "string", NULL},
	{"before", "string", "its size now; empty: it is added"},
	{"after", "string", "empty: it is removed"},
	{"text", "string", "all of it in one line"},
};

static const struct clv_schema_field plan[] = {
	{"devices", "[PlanDevice]", "that the layout selects"},
	{"steps", "[PlanStep]", NULL},
	{"kept", "[string]", NULL},
	{"obstacles", "[Obstacle]", NULL},
	{"warnings", "[string]", NULL},
	{"shares", "[PlanShare]", NULL},
	{"share_changes", "[ShareChange]", "what differs from the current standing shares"},
	{"on_busy", "fail|wait|list", NULL},
};

static const struct clv_schema_field stage[] = {
	{"state", "pending|running|done|failed", NULL},
	{"seconds", "number", NULL},
	{"kind", "string", NULL},
	{"device", "string", NULL},
	{"partition", "string", NULL},
	{"text", "string", NULL},
};

static const struct clv_schema_field operation[] = {
	{"id", "string", NULL},
	{"what", "string", NULL},
	{"state", "surveying|waiting|running|rolling_back|done|failed|rolled_back", NULL},
	{"revision", "integer", "larger with every change"},
	{"step", "integer", NULL},
	{"steps", "[Stage]", NULL},
	{"obstacles", "[Obstacle]", NULL},
	{"error", "Problem?", NULL},
	{"started_at", "time?", NULL},
	{"ended_at", "time?", NULL},
	{"left", "[LeftDevice]", "what a roll-back could not put back"},
};

static const struct clv_schema_field engines[] = {
	{"copy", "integer?", "null: not known without the driver"},
	{"decode", "integer?", NULL},
	{"encode", "integer?", NULL},
	{"jpeg", "integer?", NULL},
	{"optical_flow", "integer?", NULL},
};

static const struct clv_schema_field profile[] = {
	{"device", "string", NULL},
	{"scheme", "mig|xcp|vf|cores", NULL},
	{"profile", "string", NULL},
	{"memory_bytes", "integer", "of one such partition"},
	{"compute_units", "integer", "of one such partition"},
	{"fits", "integer", "how many more fit now"},
	{"most", "integer", "how many fit on an empty device"},
	{"starts", "[integer]", "possible starts"},
	{"note", "string", NULL},
	{"engines", "Engines?", "of one such partition"},
};

static const struct clv_schema_field partition_request[] = {
	{"device", "string", NULL},
	{"profile", "string", NULL},
	{"count", "integer", NULL},
	{"start", "integer", NULL},
};

static const struct clv_schema_field allowance[] = {
	{"share", "number?", "in devices"},
	{"memory_bytes", "integer?", NULL},
	{"leases", "integer?", NULL},
	{"profiles", "[string]?", NULL},
	{"classes", "[string]?", NULL},
};

static const struct clv_schema_field audit_who[] = {
	{"subject", "string", NULL},
	{"uid", "integer?", NULL},
	{"token", "string?", NULL},
};

static const struct clv_schema_field audit_event[] = {
	{"id", "integer", NULL},
	{"time", "time", NULL},
	{"who", "AuditWho", NULL},
	{"from", "string", NULL},
	{"action", "string", NULL},
	{"object", "string", NULL},
	{"detail", "string", NULL},
	{"result", "string", "ok, or the code of the problem"},
};

static const struct clv_schema_field holder_request[] = {
	{"pid", "integer", "of a process on the agent's machine"},
};

static const struct clv_schema_field token_secret[] = {
	{"secret", "string", "only in the answer to its creation"},
};

static const struct clv_schema_field placement_request[] = {
	{"lease", "LeaseRequest", "without isolation and user; its name and wait have no effect"},
	{"instead_of", "string", "a lease that ends once this one is there or, where that has no room, before"},
	{"ends_first", "boolean", "that lease ends before in any case"},
};

static const struct clv_schema_field placements_request[] = {
	{"leases", "[PlacementRequest]", "at most 256, each placed as if those before it were there"},
	{"gone", "[string]", "leases that are taken to have ended"},
};

static const struct clv_schema_field placement[] = {
	{"fits", "boolean", NULL},
	{"device", "string?", "null: it does not fit"},
	{"share", "number?", NULL},
	{"memory_bytes", "integer?", NULL},
	{"after_end", "boolean", "only once the lease in whose place it comes has ended"},
	{"error", "Problem?", "what POST /v1/leases would answer"},
};

static const struct clv_schema_field replica[] = {
	{"name", "string", "of its container, and of its lease"},
	{"state", "string", "queued, creating, starting, ready, ended, draining, freezing, frozen or removing"},
	{"lease", "boolean", "it has a device"},
	{"in_flight", "integer", "requests or connections"},
	{"why", "string", "why it ended"},
};

static const struct clv_schema_field service[] = {
	{"name", "string", NULL},
	{"state", "string", "ready, starting, stopping, asleep, off, no room, failing, failed, complete or removed"},
	{"wanted", "integer", "replicas"},
	{"ready", "integer", "replicas"},
	{"min_replicas", "integer", NULL},
	{"max_replicas", "integer", NULL},
	{"ports", "[integer]", "that are published"},
	{"use", "number", "of its leases' promised compute, in the last second"},
	{"in_flight", "integer", "requests or connections"},
	{"requests", "integer", "since its proxy started"},
	{"sleeps", "boolean", "it stops without requests"},
	{"autoscaled", "boolean", "its use changes the number of replicas"},
	{"why", "string", "why it has this number of replicas"},
	{"failure", "string", "the last one; empty: none"},
	{"all_replicas", "integer", "how many it has; replicas may lack the last of many"},
	{"replicas", "[Replica]", NULL},
};

/* Of an action: what was asked for, and by it. */
static const struct clv_schema_field action_request[] = {
	{"do", "scale|logs", "scale: set the number of replicas; logs: what a replica wrote last"},
	{"service", "string", "of the project, for scale"},
	{"replicas", "integer", "for scale; 0: asleep where requests can start the service, else off"},
	{"replica", "string", "for logs: its name"},
	{"lines", "integer", "for logs: the last ones, 1000 at most; 200 without it"},
	{"expires_in", "integer", "seconds in which the supervisor must take it, 300 at most; 30 without it"},
};

static const struct clv_schema_field action[] = {
	{"id", "string", NULL},
	{"project", "string", NULL},
	{"tenant", "string", "whose project it is"},
	{"by", "string", "who asked for it"},
	{"asked_at", "time", NULL},
	{"expires_at", "time", "the supervisor takes it before, or never"},
	{"state", "waiting|running|done|refused|failed|expired", "refused: nothing was changed; failed: it was begun; expired: the supervisor did not take it in time"},
	{"why", "string", "what came of it, once it has ended"},
	{"output", "[string]", "of logs: lines, oldest first"},
	{"cut", "boolean", "the output lacks lines at its begin"},
	{"do", "string", NULL},
	{"service", "string", "as it was asked for, as are replicas, replica and lines"},
	{"replicas", "integer", NULL},
	{"replica", "string", NULL},
	{"lines", "integer", NULL},
};

static const struct clv_schema_field action_result[] = {
	{"id", "string", NULL},
	{"state", "running|done|refused|failed", NULL},
	{"why", "string", NULL},
	{"output", "[string]", "lines, 1000 at most"},
	{"cut", "boolean", NULL},
};

static const struct clv_schema_field decision[] = {
	{"id", "integer", NULL},
	{"time", "time", NULL},
	{"service", "string", "empty: the project"},
	{"what", "string", NULL},
	{"why", "string", NULL},
};

/* The fields of the report are the last three; what it says of actions is not shown. */
static const struct clv_schema_field project[] = {
	{"number", "integer", NULL},
	{"name", "string", NULL},
	{"tenant", "string", "whose services they are"},
	{"services", "[Service]", NULL},
	{"decisions", "[Decision]", "of the supervisor, the last ones, oldest first"},
	{"results", "[ActionResult]", "of actions that the supervisor has taken"},
};

static const struct clv_schema schemas[] = {
	{"Action", FIELDS(action), CLV_ARRAY_SIZE(action) - 4},
	{"ActionRequest", FIELDS(action_request), 1},
	{"ActionResult", FIELDS(action_result), 3},
	{"Advice", ALL(advice)},
	{"AdvicePart", FIELDS(advice_part), 3},
	{"Allowance", ALL(allowance)},
	{"AuditEvent", ALL(audit_event)},
	{"AuditWho", ALL(audit_who)},
	{"Backup", ALL(backup)},
	{"Caller", ALL(caller)},
	{"Decision", ALL(decision)},
	{"Device", .table = &clv_device_fields},
	{"DeviceList", ALL(device_list)},
	{"DriverProcess", ALL(driver_process)},
	{"Engines", ALL(engines)},
	{"Event", .table = &clv_event_fields},
	{"Health", ALL(health)},
	{"History", ALL(history)},
	{"Holder", .members = &clv_holder_members},
	{"HolderRequest", ALL(holder_request)},
	{"Layout", FIELDS(layout), 1},
	{"Lease", .table = &clv_lease_fields},
	{"LeaseChange", .table = &clv_lease_fields, .by = CLV_FIELD_CHANGE},
	{"LeaseDevice", ALL(lease_device)},
	{"LeaseList", ALL(lease_list)},
	{"LeaseRequest", .table = &clv_lease_fields, .by = CLV_FIELD_CREATE},
	{"LeftDevice", ALL(left_device)},
	{"MigModel", ALL(mig_model), .members = &clv_mig_model_members},
	{"MigProfile", ALL(mig_profile), .members = &clv_mig_profile_members},
	{"MigState", ALL(mig_state), .members = &clv_mig_state_members},
	{"NewToken", FIELDS(token_secret), .table = &clv_token_fields},
	{"Node", ALL(node)},
	{"NodeAddress", ALL(node_address)},
	{"NodeDevice", ALL(node_device), .members = &clv_node_device_members},
	{"NodePartition", FIELDS(node_partition), CLV_ARRAY_SIZE(node_partition) - 1,
		.members = &clv_partition_members},
	{"Obstacle", ALL(obstacle)},
	{"Operation", FIELDS(operation), CLV_ARRAY_SIZE(operation) - 1},
	{"Partition", .table = &clv_partition_fields},
	{"PartitionRequest", FIELDS(partition_request), 2},
	{"Placement", ALL(placement)},
	{"PlacementRequest", FIELDS(placement_request), 1},
	{"PlacementsRequest", FIELDS(placements_request), 1},
	{"Plan", ALL(plan)},
	{"PlanDevice", ALL(plan_device)},
	{"PlanShare", ALL(plan_share)},
	{"PlanStep", ALL(plan_step)},
	{"Problem", ALL(problem)},
	{"Process", ALL(process)},
	{"Profile", ALL(profile)},
	{"Project", project, 5, 5},
	{"ProjectReport", project + 3, 3, 2},
	{"Readiness", ALL(readiness)},
	{"Reason", FIELDS(reason), 0},
	{"Replica", ALL(replica)},
	{"Service", ALL(service)},
	{"ShareChange", ALL(share_change)},
	{"ShareRange", ALL(share_range)},
	{"SmLimit", ALL(sm)},
	{"Stage", ALL(stage)},
	{"StandingShare", .table = &clv_standing_fields},
	{"Tenant", .table = &clv_tenant_fields},
	{"Token", .table = &clv_token_fields},
	{"TokenRequest", .n_required = 2, .table = &clv_token_fields,
		.by = CLV_FIELD_CREATE},
	{"Version", ALL(version)},
	{"VfQuota", .members = &clv_vf_quota_members},
	{"VfState", ALL(vf_state), .members = &clv_vf_state_members},
	{"VgpuType", .members = &clv_vgpu_type_members},
	{"VirtualFunction", ALL(virtual_function), .members = &clv_vf_members},
	{"WantedDevice", ALL(wanted_device)},
	{"WantedStep", ALL(wanted_step)},
	{"XcpState", ALL(xcp_state), .members = &clv_xcp_state_members},
};
/* clang-format on */

const struct clv_schema *clv_schemas(size_t *ret_n)
{
	*ret_n = CLV_ARRAY_SIZE(schemas);
	return schemas;
}

static bool shown_at(
	const struct clv_field_table *table, size_t at, struct clv_schema_field *ret)
{
	for (size_t i = 0; i < table->n; i++) {
		const struct clv_field *field = &table->rows[i];

		if (!field->type || at-- > 0)
			continue;
		*ret = (struct clv_schema_field){field->name, field->type, field->about};
		return true;
	}
	return false;
}

static bool asked_at(const struct clv_field_table *table, unsigned int by, size_t at,
	struct clv_schema_field *ret)
{
	const struct clv_field *field;

	for (unsigned int n = 1; (field = clv_field_asked(table, n)); n++) {
		if (!(field->asked.by & by) || at-- > 0)
			continue;
		*ret = (struct clv_schema_field){
			field->name, field->asked.type, field->asked.about};
		return true;
	}
	return false;
}

static struct clv_schema_field of_member(const struct clv_json_field *member)
{
	const char *type = member->type == CLV_JSON_TEXT   ? "string"
			   : member->type == CLV_JSON_BOOL ? "boolean"
							   : "integer";

	return (struct clv_schema_field){member->key, type, member->about};
}

/* How many fields of an answer are from a table. */
static size_t count_shown(const struct clv_schema *schema)
{
	struct clv_schema_field field;
	size_t n = 0;

	if (schema->members)
		return schema->members->n;
	while (schema->table && !schema->by && shown_at(schema->table, n, &field))
		n++;
	return n;
}

bool clv_schema_at(const struct clv_schema *schema, size_t at,
	struct clv_schema_field *ret, bool *ret_is_required)
{
	size_t n_shown = count_shown(schema);

	if (schema->by) {
		*ret_is_required = at < schema->n_required;
		return asked_at(schema->table, schema->by, at, ret);
	}
	*ret_is_required = at < n_shown + schema->n_required;
	if (at < n_shown && schema->members) {
		*ret = of_member(&schema->members->rows[at]);
		return true;
	}
	if (at < n_shown)
		return shown_at(schema->table, at, ret);
	if (at - n_shown < schema->n_fields)
		*ret = schema->fields[at - n_shown];
	return at - n_shown < schema->n_fields;
}

/* Types as JSON Schema. */

static json_t *plain(const char *type)
{
	return json_pack("{s:s}", "type", type);
}

static json_t *choice(const char *names)
{
	json_t *array = json_array();

	while (*names != '\0') {
		size_t n = strcspn(names, "|");

		json_array_append_new(array, json_stringn(names, n));
		names += n + (names[n] == '|');
	}
	return json_pack("{s:s,s:o}", "type", "string", "enum", array);
}

static json_t *reference(const char *name)
{
	char path[96];

	snprintf(path, sizeof(path), "#/components/schemas/%s", name);
	return json_pack("{s:s}", "$ref", path);
}

static json_t *simple_or_reference(const char *type)
{
	static const char *const simple[] = {
		"string", "integer", "number", "boolean", "object"};
	char inner[64];
	size_t n = strlen(type);

	if (type[0] == '[') {
		snprintf(inner, sizeof(inner), "%.*s", (int)n - 2, type + 1);
		return json_pack(
			"{s:s,s:o}", "type", "array", "items", clv_schema_of_type(inner));
	}
	for (size_t i = 0; i < CLV_ARRAY_SIZE(simple); i++) {
		if (strcmp(type, simple[i]) == 0)
			return plain(type);
	}
	if (strcmp(type, "time") == 0)
		return json_pack("{s:s,s:s}", "type", "string", "format", "date-time");
	return type[0] >= 'A' && type[0] <= 'Z' ? reference(type) : choice(type);
}

json_t *clv_schema_of_type(const char *type)
{
	char without[96];
	size_t n = strlen(type);

	if (type[n - 1] != '?')
		return simple_or_reference(type);
	snprintf(without, sizeof(without), "%.*s", (int)n - 1, type);
	return json_pack(
		"{s:[o,o]}", "anyOf", simple_or_reference(without), plain("null"));
}

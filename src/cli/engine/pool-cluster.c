/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the commands of crmsh and of pcs.  What both have in common, the parameters of
 * the resources, is written once. */
#include "cli/engine/pool-cluster.h"

#include <stdbool.h>
#include <string.h>

static bool is_crm(const struct clv_pool_cluster *c)
{
	return strcmp(c->tool, "crm") == 0;
}

static void write_capacity(FILE *to, const struct clv_pool_cluster *c)
{
	const char *op = "monitor interval=10s timeout=60s";

	fputs("# once for the cluster: place resources only where their utilization "
	      "fits\n",
		to);
	fprintf(to,
		is_crm(c) ? "crm configure property placement-strategy=%s\n"
			  : "pcs property set placement-strategy=%s\n",
		"balanced");
	fprintf(to, "# once for the pool: each node's capacity, the utilization gpu-%s\n",
		c->pool);
	if (is_crm(c))
		fprintf(to,
			"crm configure primitive pool-%s ocf:cleave:pool params pool=%s "
			"op %s\n"
			"crm configure clone pool-%s-clone pool-%s\n",
			c->pool, c->pool, op, c->pool, c->pool);
	else
		fprintf(to,
			"pcs resource create pool-%s ocf:cleave:pool pool=%s op %s "
			"clone\n",
			c->pool, c->pool, op);
}

static void write_parameters(FILE *to, const struct clv_pool_cluster *c)
{
	fprintf(to, "pool=%s lease=%s", c->pool, c->vm);
	if (c->model[0])
		fprintf(to, " model='%s'", c->model);
	if (c->template)
		fprintf(to, " template='%s'", c->template);
	else
		fprintf(to, " template=/etc/libvirt/qemu/%s.xml", c->vm);
	fprintf(to, " config=/run/cleave/pacemaker/%s.xml", c->vm);
}

static void write_device(FILE *to, const struct clv_pool_cluster *c)
{
	const char *ops = "op start timeout=60s op stop timeout=60s op monitor "
			  "interval=10s timeout=60s";

	if (is_crm(c)) {
		fprintf(to, "crm configure primitive %s-gpu ocf:cleave:gpu params ",
			c->vm);
		write_parameters(to, c);
		fprintf(to, " utilization gpu-%s=1 %s\n", c->pool, ops);
		return;
	}
	fprintf(to, "pcs resource create %s-gpu ocf:cleave:gpu ", c->vm);
	write_parameters(to, c);
	fprintf(to, " %s\npcs resource utilization %s-gpu gpu-%s=1\n", ops, c->vm,
		c->pool);
}

/* With a placement strategy Pacemaker places a resource only where the node has as much
 * of each of its utilization attributes, and VirtualDomain adds some, of which nodes have
 * nothing. */
static void write_domain(FILE *to, const struct clv_pool_cluster *c)
{
	const char *parameters = "hypervisor=qemu:///system "
				 "autoset_utilization_cpu=false "
				 "autoset_utilization_host_memory=false "
				 "autoset_utilization_hv_memory=false";
	const char *ops = "op start timeout=90s op stop timeout=90s op monitor "
			  "interval=10s timeout=30s";

	if (is_crm(c))
		fprintf(to,
			"crm configure primitive %s ocf:heartbeat:VirtualDomain params "
			"config=/run/cleave/pacemaker/%s.xml %s %s\n"
			"crm configure group %s-with-gpu %s-gpu %s\n",
			c->vm, c->vm, parameters, ops, c->vm, c->vm, c->vm);
	else
		fprintf(to,
			"pcs resource create %s ocf:heartbeat:VirtualDomain "
			"config=/run/cleave/pacemaker/%s.xml %s %s\n"
			"pcs resource group add %s-with-gpu %s-gpu %s\n",
			c->vm, c->vm, parameters, ops, c->vm, c->vm, c->vm);
}

void clv_pool_cluster_write(FILE *to, const struct clv_pool_cluster *c)
{
	write_capacity(to, c);
	fprintf(to, "# for %s: the device first, and the domain on the same node\n",
		c->vm);
	write_device(to, c);
	write_domain(to, c);
	fputs("# The cluster must have fencing (stonith-enabled=true): without it a node "
	      "that "
	      "was lost may\n# still run the machine while another node starts it.\n",
		to);
}

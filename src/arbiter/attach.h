/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <assert.h>
#include <stddef.h>
#include <stdint.h>

/* The two messages of an attach, over the lease's own SOCK_SEQPACKET socket.
 *
 * A gate sends a hello; the agent answers with a reply that carries the control page (to
 * be mapped read-only), the report page and the doorbell (a pipe: write a byte to ring),
 * in this order.  The connection stays open and silent: its end tells the gate that the
 * agent went. A gate that had pages from an earlier agent sends its old report page along
 * with the hello, so that the memory ledger goes on without a gap; the new agent then
 * hands out the same report page to all processes of the lease.  The agent never trusts a
 * length or a text of a hello; the gate trusts the agent.  Both may be older than the
 * other: a reply grows at its end, and fields that were reserved are 0 from who does not
 * know them.
 *
 * The gate of a GPU whose work can be stopped half-way may send on: an object message for
 * each channel group, channel and subdevice that the process has, with the driver's file
 * through which it was made, and one for what it freed (class 0, no file).  What there is
 * no room for it sends later, and what that is need not be known to be waited for: the
 * report page says how much there is to be known.  Where the
 * control page has a limit in space, the gate says what holds the process to that.  The
 * gate of a device that is the processor names the threads that compute for it. */

#define CLV_ATTACH_MAGIC 0x43564c43u /* "CLVC" */
#define CLV_ATTACH_VERSION 1u
#define CLV_ATTACH_NO_SLOT UINT32_MAX
#define CLV_ATTACH_ENV "CLEAVE_LEASE"                   /* path of the lease's socket */
#define CLV_ATTACH_ENV_IF_NO_AGENT "CLEAVE_IF_NO_AGENT" /* "open": run ungated */
#define CLV_ATTACH_DEFAULT_SOCKET "/run/cleave/lease.sock"
#define CLV_ATTACH_SOCKET_NAME "lease.sock"

enum clv_attach_api {
	CLV_ATTACH_API_OPENCL = 1,
	CLV_ATTACH_API_CUDA,
	CLV_ATTACH_API_HIP,
};

enum { /* order of the file descriptors in a reply */
	CLV_ATTACH_FD_CONTROL,
	CLV_ATTACH_FD_REPORT,
	CLV_ATTACH_FD_DOORBELL,
	CLV_ATTACH_FDS,
};

struct clv_attach_hello {
	uint32_t magic;
	uint32_t version;
	uint32_t api; /* enum clv_attach_api */
	uint32_t page_version;
	uint32_t old_slot; /* with an old report page: the slot in it, else NO_SLOT */
	/* How long a reply the gate can read; 0: FIRST_BYTES, as gates were at first. */
	uint32_t reply_bytes;
	uint32_t reserved[2];
};

#define CLV_ATTACH_DEVICES_BYTES 4096u

struct clv_attach_reply {
	uint32_t magic;
	uint32_t version;
	int32_t status; /* 0 or a negative errno; then there are no file descriptors */
	uint32_t slot;
	/* Which device: for OpenCL as struct clv_device_locator has it; for the others
	 * its name in model, "" where the lease has several: for CUDA the UUID, for HIP
	 * as ROCR_VISIBLE_DEVICES has it. */
	char platform[128];
	char model[128];
	uint32_t ordinal;
	uint32_t pid; /* the process, as the agent sees it; 0: an agent that says not */
	char message[256]; /* why it was refused, one line */
	/* Only for a gate that can read it, and from an agent that has it: these names of
	 * the lease's devices in its order, a comma between. */
	char devices[CLV_ATTACH_DEVICES_BYTES];
};

#define CLV_ATTACH_REPLY_FIRST_BYTES offsetof(struct clv_attach_reply, devices)

struct clv_attach_object {
	uint32_t magic;
	uint32_t client, parent, handle, class; /* as struct clv_rm_object */
	uint32_t reserved;
	/* With this message all is told up to n_changes (page.h); 0: more is to come, or
	 * a gate that says not.  A client of 0: nothing was made or freed. */
	uint64_t as_of;
};

#define CLV_ATTACH_SM_MAGIC 0x53564c43u /* "CLVS" */

/* Of what a process does at a time the later ones count: the worse are behind. */
enum clv_attach_sm {
	CLV_ATTACH_SM_UNKNOWN, /* it has not come to it */
	CLV_ATTACH_SM_MPS,
	CLV_ATTACH_SM_MASKS,
	CLV_ATTACH_SM_GREEN,
	_CLV_ATTACH_SM_HELD = CLV_ATTACH_SM_GREEN, /* from here on nothing holds it */
	CLV_ATTACH_SM_NO_MEANS,                    /* its driver has none */
	CLV_ATTACH_SM_OTHER_CONTEXT,               /* work that they do not reach */
	CLV_ATTACH_SM_OTHER_STREAM,
	CLV_ATTACH_SM_OTHER_GRAPH,
	CLV_ATTACH_SM_OTHER_API, /* the agent's own finding */
	_CLV_ATTACH_SM_MAX,
};

struct clv_attach_sm_state {
	uint32_t magic;
	uint32_t state; /* enum clv_attach_sm */
	uint32_t count; /* to how many it is held; 0: not known */
	uint32_t reserved[5];
};

#define CLV_ATTACH_THREADS_MAGIC 0x54564c43u /* "CLVT" */
#define CLV_ATTACH_THREADS_MAX 1022u

/* The threads in which the vendor computes, all of them, as the process itself numbers
 * them.  Only the first n are sent. */
struct clv_attach_threads {
	uint32_t magic;
	uint32_t n;
	int32_t tids[CLV_ATTACH_THREADS_MAX];
};

/* Such a thread that gets this signal with this value waits while the control page's
 * is_halted is set.  Nobody dies of a SIGURG that nobody handles. */
#define CLV_ATTACH_HALT_SIGNAL SIGURG
#define CLV_ATTACH_HALT_VALUE 0x43564c48

static_assert(
	offsetof(struct clv_attach_threads, tids) == 8, "the layout is an interface");
static_assert(sizeof(struct clv_attach_sm_state) == 32, "the layout is an interface");
static_assert(sizeof(struct clv_attach_object) == 32, "the layout is an interface");
static_assert(sizeof(struct clv_attach_hello) == 32, "the layout is an interface");
static_assert(CLV_ATTACH_REPLY_FIRST_BYTES == 536, "the layout is an interface");
static_assert(sizeof(struct clv_attach_reply) == 4632, "the layout is an interface");

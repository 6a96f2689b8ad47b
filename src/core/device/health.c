/* SPDX-License-Identifier: Apache-2.0 */
/* Reasons for a degraded device from signs of the driver and from Xid errors. */
#include "core/device/health.h"

#include "base/cleanup.h"

#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#define RESET "reset it when no process uses it"
#define REPLACE "have it replaced"

/* clang-format off */
static const struct {
	enum clv_health_state state;
	const char *code;
	const char *text;
	bool is_counted; /* the count precedes the text */
} signs[_CLV_SIGN_MAX] = {
	[CLV_SIGN_LOST] = {CLV_HEALTH_LOST, "lost",
		"the driver does not reach it any more: see the kernel's log, then reset it or restart the machine"},
	[CLV_SIGN_SILENT] = {CLV_HEALTH_DEGRADED, "silent",
		"the driver does not answer: see the kernel's log"},
	[CLV_SIGN_ECC] = {CLV_HEALTH_DEGRADED, "ecc",
		"uncorrectable memory errors since the driver was loaded: " RESET, true},
	[CLV_SIGN_ROWS_PENDING] = {CLV_HEALTH_DEGRADED, "rows-pending",
		"rows of its memory wait to be remapped: " RESET},
	[CLV_SIGN_ROWS_FAILED] = {CLV_HEALTH_DEGRADED, "rows-failed",
		"rows of its memory cannot be remapped: " REPLACE},
	[CLV_SIGN_PAGES_PENDING] = {CLV_HEALTH_DEGRADED, "pages-pending",
		"pages of its memory wait to be retired: reload its driver when no process uses it", true},
	[CLV_SIGN_PAGES_FAILED] = {CLV_HEALTH_DEGRADED, "pages-failed",
		"pages of its memory cannot be retired: " REPLACE, true},
	[CLV_SIGN_RAS] = {CLV_HEALTH_DEGRADED, "ras",
		"uncorrectable errors since the driver was loaded: " RESET, true},
	[CLV_SIGN_DUMP] = {CLV_HEALTH_DEGRADED, "dump",
		"it hung and left a dump: look at its devcoredump, then write to that file to clear it"},
};

static const struct clv_xid xids[] = {
	{13, CLV_XID_OF_PROGRAM, "graphics engine exception", "look at the program"},
	{31, CLV_XID_OF_PROGRAM, "page fault of a program", "look at the program"},
	{43, CLV_XID_OF_PROGRAM, "a program's channel was stopped", "look at the program"},
	{45, CLV_XID_OF_PROGRAM, "a program's channels were cleaned up", "look for an error before it"},
	{48, CLV_XID_DEGRADES, "uncorrectable memory error", RESET},
	{61, CLV_XID_DEGRADES, "internal controller warning", RESET},
	{62, CLV_XID_DEGRADES, "internal controller halted", RESET},
	{63, CLV_XID_DEGRADES, "a row of memory is to be remapped", RESET},
	{64, CLV_XID_DEGRADES, "a row of memory could not be remapped", REPLACE},
	{68, CLV_XID_OF_PROGRAM, "video engine exception", "look at the program"},
	{69, CLV_XID_OF_PROGRAM, "graphics engine class error", "look at the program"},
	{74, CLV_XID_DEGRADES, "NVLink error", "look at the link, then " RESET},
	{79, CLV_XID_LOSES, "it has fallen off the bus", "restart the machine"},
	{92, CLV_XID_DEGRADES, "many corrected memory errors", "look at its memory with a diagnosis"},
	{94, CLV_XID_OF_PROGRAM, "memory error that one program saw", "start the program again"},
	{95, CLV_XID_DEGRADES, "memory error that may have spread", RESET},
	{109, CLV_XID_OF_PROGRAM, "a program's context did not switch in time", "look at the program"},
	{119, CLV_XID_DEGRADES, "the GPU's system processor does not answer", RESET},
	{120, CLV_XID_DEGRADES, "the GPU's system processor failed", RESET},
	{121, CLV_XID_DEGRADES, "error of the link to the processor", RESET},
	{140, CLV_XID_DEGRADES, "memory error that was not recovered", RESET},
	{143, CLV_XID_LOSES, "it could not be started", "restart the machine"},
};

static const struct clv_xid other_xid = {
	0, CLV_XID_DEGRADES, "error of the GPU", "look it up in NVIDIA's list of Xid errors"};
/* clang-format on */

static const char *const states[_CLV_HEALTH_STATE_MAX] = {"ok", "degraded", "lost"};

const char *clv_health_state_to_string(enum clv_health_state state)
{
	return state >= 0 && state < _CLV_HEALTH_STATE_MAX ? states[state] : NULL;
}

const struct clv_xid *clv_xid_find(uint32_t number)
{
	for (size_t i = 0; i < CLV_ARRAY_SIZE(xids); i++) {
		if (xids[i].number == number)
			return &xids[i];
	}
	return &other_xid;
}

static struct clv_health_reason *find(struct clv_health *health, const char *code)
{
	for (size_t i = 0; i < health->n_reasons; i++) {
		if (strcmp(health->reasons[i].code, code) == 0)
			return &health->reasons[i];
	}
	return NULL;
}

static void find_worst(struct clv_health *health)
{
	health->state = CLV_HEALTH_OK;
	for (size_t i = 0; i < health->n_reasons; i++) {
		if (health->reasons[i].state > health->state)
			health->state = health->reasons[i].state;
	}
}

static bool drop(struct clv_health *health, struct clv_health_reason *reason)
{
	size_t at;

	if (!reason)
		return false;
	at = (size_t)(reason - health->reasons);
	memmove(reason, reason + 1, (--health->n_reasons - at) * sizeof(*reason));
	find_worst(health);
	return true;
}

/* A free entry, or the entry of a less severe reason; NULL if there is neither. */
static struct clv_health_reason *make_room(
	struct clv_health *health, enum clv_health_state state)
{
	if (health->n_reasons < CLV_HEALTH_REASONS_MAX)
		return &health->reasons[health->n_reasons++];
	for (size_t i = 0; i < health->n_reasons; i++) {
		if (health->reasons[i].state < state)
			return &health->reasons[i];
	}
	return NULL;
}

static bool put(struct clv_health *health, const struct clv_health_reason *wanted)
{
	struct clv_health_reason *reason = find(health, wanted->code);

	if (reason && strcmp(reason->text, wanted->text) == 0)
		return false;
	if (!reason)
		reason = make_room(health, wanted->state);
	if (!reason)
		return false;
	*reason = *wanted;
	find_worst(health);
	return true;
}

static bool take_sign(struct clv_health *health, enum clv_sign sign, uint64_t count)
{
	struct clv_health_reason reason = {.state = signs[sign].state};

	if (count == 0)
		return drop(health, find(health, signs[sign].code));
	snprintf(reason.code, sizeof(reason.code), "%s", signs[sign].code);
	if (signs[sign].is_counted)
		snprintf(reason.text, sizeof(reason.text), "%" PRIu64 " %s", count,
			signs[sign].text);
	else
		snprintf(reason.text, sizeof(reason.text), "%s", signs[sign].text);
	return put(health, &reason);
}

static bool take_xid(struct clv_health *health, uint32_t number)
{
	const struct clv_xid *xid = clv_xid_find(number);
	struct clv_health_reason reason = {.stays = true,
		.state = xid->effect == CLV_XID_LOSES ? CLV_HEALTH_LOST
						      : CLV_HEALTH_DEGRADED};

	if (xid->effect == CLV_XID_OF_PROGRAM)
		return false;
	snprintf(reason.code, sizeof(reason.code), "xid-%" PRIu32, number);
	snprintf(reason.text, sizeof(reason.text), "Xid %" PRIu32 ", %s: %s", number,
		xid->what, xid->help);
	return put(health, &reason);
}

bool clv_health_update(struct clv_health *health, const struct clv_reading *reading)
{
	bool is_changed = false;

	for (int i = 0; i < _CLV_SIGN_MAX; i++)
		is_changed |= take_sign(health, (enum clv_sign)i, reading->signs[i]);
	for (size_t i = 0; i < reading->n_xids; i++)
		is_changed |= take_xid(health, reading->xids[i]);
	return is_changed;
}

bool clv_health_set_hang(struct clv_health *health, bool is_hanging, uint64_t seconds)
{
	struct clv_health_reason reason = {.code = "hang", .state = CLV_HEALTH_DEGRADED};

	if (!is_hanging)
		return drop(health, find(health, reason.code));
	snprintf(reason.text, sizeof(reason.text),
		"a lease has not returned the device for over %" PRIu64
		" s: cleave ps shows which one holds it; look at its program, or release "
		"it",
		seconds);
	return put(health, &reason);
}

bool clv_health_acknowledge(struct clv_health *health)
{
	bool is_changed = false;

	for (size_t i = health->n_reasons; i-- > 0;)
		is_changed |=
			health->reasons[i].stays && drop(health, &health->reasons[i]);
	return is_changed;
}

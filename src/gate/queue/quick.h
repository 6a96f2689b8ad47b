/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "gate/queue/queues.h"

/* clv_quick_pass() in assembly, for the one entry point that programs call millions of
 * times: six parameters of a launch are on the stack, and a compiler moves them to
 * registers and back to pass them to the vendor, which is a third of its instructions.
 * This code leaves every argument in place, and takes the steps in the order of
 * clv_quick_pass(), which documents them; only the kind is checked first.
 *
 * LAUNCH(symbol, real, own): defines a function of (kernel, x, y, z, four parameters
 * that do not matter, shared memory, stream, ...).  real: an operand, the address of
 * the vendor's function; own: 8 if no stream means the thread's own default stream,
 * else 0. */
#if defined(__x86_64__)
#define CLV_HAS_QUICK_LAUNCH 1

/* Offsets and values that the assembly below contains. */
#define CLV_AT(type, member, place) \
	static_assert(offsetof(type, member) == (place), "quick.h has it")
CLV_AT(struct clv_gate_thread, last_queue, 0);
CLV_AT(struct clv_gate_thread, default_handle, 8);
CLV_AT(struct clv_gate_thread, own_default_handle, 16);
CLV_AT(struct clv_queue, handle, 0);
CLV_AT(struct clv_queue, unmarked_kind, 16);
CLV_AT(struct clv_queue, quick_limit, 24);
CLV_AT(struct clv_queue, backlog.unmarked, 32);
CLV_AT(struct clv_cost, key, 0);
CLV_AT(struct clv_cost, packed, 8);
CLV_AT(struct clv_wiped_on_fork, view, 0);
CLV_AT(struct clv_view, control, 0);
CLV_AT(struct clv_view, slot, 16);
CLV_AT(struct clv_control_page, phase, 8);
CLV_AT(struct clv_control_page, window_ns, 16);
CLV_AT(struct clv_slot, entered, 0);
CLV_AT(struct clv_slot, done, 8);
CLV_AT(struct clv_gate_state, flight, 8);
static_assert(CLV_COST_BITS == 12 && sizeof(struct clv_cost) == 16, "quick.h has it");
static_assert(CLV_FLIGHT_COUNT_BITS == 20, "quick.h has it");
/* phase + 1 has bit 1 set for OPEN and SHARED only. */
static_assert(CLV_PHASE_CLOSED == 0 && CLV_PHASE_OPEN == 1 && CLV_PHASE_SHARED == 2 &&
		      CLV_PHASE_GRANTED == 3,
	"quick.h has it");
static_assert(CLV_COST_MIXED == UINT64_MAX, "quick.h has it");

/* clang-format off */
#define LAUNCH(symbol, real, own)                                              \
	__asm__(".text\n"                                                      \
		".globl " #symbol "\n"                                         \
		".type " #symbol ", @function\n"                               \
		".p2align 4\n" #symbol ":\n"                                   \
		"	endbr64\n"                                                   \
		"	mov clv_gate_thread@gottpoff(%rip), %r10\n"                  \
		"	mov %fs:(%r10), %r11\n"          /* the queue used last */   \
		"	mov 24(%rsp), %rax\n"            /* the stream */            \
		"	test %rax, %rax\n"                                           \
		"	jz 4f\n"                                                     \
		"1:	cmp %rax, (%r11)\n"                                        \
		"	jne clv_slow_" #symbol "\n"                                  \
		"	mov 32(%r11), %rax\n"            /* unmarked */              \
		"	cmp 24(%r11), %rax\n"            /* quick_limit */           \
		"	jae clv_slow_" #symbol "\n"                                  \
		"	mov %edx, %eax\n"                /* clv_cost_key_kernel() */ \
		"	shl $32, %rax\n"                                             \
		"	mov %ecx, %r10d\n"                                           \
		"	or %r10, %rax\n"                                             \
		"	mov %esi, %r10d\n"                                           \
		"	imul clv_quick_multiplier(%rip), %r10\n"                     \
		"	xor %rax, %r10\n"                                            \
		"	add %rdi, %r10\n"                                            \
		"	imul clv_quick_multiplier(%rip), %r10\n"                     \
		"	or $1, %r10\n"                                               \
		"	mov %r10, %rax\n"                                            \
		"	shr $52, %rax\n"                                             \
		"	shl $4, %rax\n"                                              \
		"	add clv_quick_costs(%rip), %rax\n"                           \
		"	cmp %r10, (%rax)\n"              /* key */                   \
		"	jne clv_slow_" #symbol "\n"                                  \
		"	mov 8(%rax), %rax\n"             /* packed */                \
		"	cmp %r10, 16(%r11)\n"            /* unmarked_kind */         \
		"	jne 5f\n"                                                    \
		"2:	mov clv_wiped_on_fork(%rip), %r10\n"                            \
		"	mov (%r10), %r10\n"              /* the view */              \
		"	test %r10, %r10\n"                                           \
		"	jz clv_slow_" #symbol "\n"                                   \
		"	push %rdi\n"                                                 \
		"	mov 16(%r10), %rdi\n"            /* its slot */              \
		"	lock incq (%rdi)\n"              /* entered */               \
		"	mov (%r10), %r10\n"              /* its control page */      \
		"	mov 8(%r10), %edi\n"             /* phase */                 \
		"	inc %edi\n"                                                  \
		"	test $2, %dil\n"                                             \
		"	jz 6f\n"                                                     \
		"	mov %rax, %rdi\n"                                            \
		"	lock xadd %rdi, clv_gate+8(%rip)\n" /* flight */             \
		"	lock add %rax, 32(%r11)\n"       /* unmarked */              \
		"	shr $20, %rdi\n"                                             \
		"	cmp 16(%r10), %rdi\n"            /* window_ns */             \
		"	pop %rdi\n"                                                  \
		"	jae 7f\n"                                                    \
		"3:	jmp *" real "\n"                                           \
		"4:	mov %fs:8+" #own "(%r10), %rax\n" /* what no stream means */ \
		"	jmp 1b\n"                                                    \
		"5:	movq $-1, 16(%r11)\n"            /* CLV_COST_MIXED */      \
		"	jmp 2b\n"                                                    \
		"6:	mov clv_wiped_on_fork(%rip), %r10\n"    /* closed meanwhile */  \
		"	mov (%r10), %r10\n"                                          \
		"	mov 16(%r10), %rdi\n"                                        \
		"	lock incq 8(%rdi)\n"             /* done */                  \
		"	pop %rdi\n"                                                  \
		"	jmp clv_slow_" #symbol "\n"                                  \
		"7:	movq $0, 24(%r11)\n"             /* the window is full */  \
		"	jmp 3b\n"                                                    \
		".size " #symbol ", . - " #symbol "\n")
/* clang-format on */

#endif

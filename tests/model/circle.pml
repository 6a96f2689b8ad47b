/* SPDX-License-Identifier: Apache-2.0 */
/* No wait of the gate closes a circle (src/gate/window/flight.c: fits(), is_queue_stalled(),
 * is_process_stalled(), is_left_behind(); src/arbiter/turns.c: finish_close()).  A program
 * submits to two queues.  The first command of queue A runs until the command of queue B
 * has, or until the host has set a word after all its submissions (-DBY_HOST); more stands
 * behind it.  With -DTWO_PROCESSES queue B is of another process of the lease, which has
 * nothing else to submit.  Such programs end without a gate.
 *
 * The arbiter is as unkind as it may be: it closes the gate at any moment, and once it has
 * left a lease behind that did not drain it gives that no turn before it has, for it owes.
 * A limit of time is Spin's `timeout`: it has passed when nothing else can happen.  So an
 * invalid end state is a circle.
 */

#define N_BEHIND 2
#define A 0
#define B 1

#define OPEN 0
#define GRANTED 1
#define CLOSED 2

byte phase = GRANTED;
byte submitted[2], finished[2];
byte n_waiting;
bool word, has_all_of_b, is_done;

#define FLIGHT(q) (submitted[q] - finished[q])
#define ALL_FLIGHT (FLIGHT(A) + FLIGHT(B))

/* What a thread looks at that waits in a closed gate. */
#if defined(TWO_PROCESSES) && defined(M_OWN_WORK_ONLY)
#define SEEN_FLIGHT(q) FLIGHT(q)
#else
#define SEEN_FLIGHT(q) ALL_FLIGHT
#endif

/* Of commands that are longer than the window: one at a time. */
#ifdef M_ONE_WINDOW_FOR_ALL
#define HAS_ROOM(q) (ALL_FLIGHT == 0)
#else
#define HAS_ROOM(q) (FLIGHT(q) == 0)
#endif

inline submit(q)
{
	do
	:: phase == OPEN -> submitted[q]++; break
	:: atomic { phase == GRANTED && HAS_ROOM(q) -> submitted[q]++ }; break
#ifndef M_NO_LIMIT_IN_TURN
	:: timeout && phase == GRANTED && !HAS_ROOM(q) -> submitted[q]++; break
#endif
	:: phase == CLOSED ->
		n_waiting++;
		if
		:: phase != CLOSED -> n_waiting--
#ifndef M_NO_LIMIT_CLOSED
		:: timeout && phase == CLOSED && SEEN_FLIGHT(q) > 0 ->
			n_waiting--;
			submitted[q]++;
			break
#endif
		fi
	od
}

proctype program()
{
	byte i;

	submit(A);
	do
	:: i < N_BEHIND -> submit(A); i++
	:: else -> break
	od;
#ifdef BY_HOST
	word = true;
	has_all_of_b = true;
#elif !defined(TWO_PROCESSES)
	submit(B);
	has_all_of_b = true;
#endif
	has_all_of_b && ALL_FLIGHT == 0;
	is_done = true
}

#ifdef TWO_PROCESSES
proctype other_process()
{
	submit(B);
	has_all_of_b = true
}
#endif

/* The first of A waits for the word; the one of B writes it. */
active proctype device_a()
{
	submitted[A] > 0 && word;
	do
	:: finished[A] < submitted[A] -> finished[A]++
	:: is_done -> break
	od
}

active proctype device_b()
{
end:
	do
	:: finished[B] < submitted[B] -> word = true; finished[B]++
	od
}

active proctype arbiter()
{
	byte n_turns;

end:
	do
	:: phase == GRANTED && n_turns < 2 ->
		phase = CLOSED;
		n_turns++;
end_draining:
		if
		:: ALL_FLIGHT == 0
		:: timeout && ALL_FLIGHT > 0 -> /* left behind: it owes until it has drained */
end_owing:
			ALL_FLIGHT == 0
		fi
	:: phase == CLOSED && n_waiting > 0 -> phase = GRANTED
	:: n_turns == 2 && phase == GRANTED -> phase = OPEN /* the others have gone */
	od
}

init
{
	atomic {
		phase = GRANTED;
#ifdef TWO_PROCESSES
		run other_process();
#endif
		run program()
	};
	is_done
}

/* SPDX-License-Identifier: Apache-2.0 */
/* No wait of the gate closes a circle (src/gate/window/flight.c: fits(), is_queue_stalled(),
 * is_lease_stalled(); src/arbiter/turns.c: finish_close()).  A program submits to two
 * queues.  The first command of queue A runs until the command of queue B has, or until
 * the host has set a word after all its submissions (-DBY_HOST); more stands behind it.
 * Such programs end without a gate.
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
bool word, is_waiting, is_done;

#define FLIGHT(q) (submitted[q] - finished[q])
#define ALL_FLIGHT (FLIGHT(A) + FLIGHT(B))

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
		is_waiting = true;
		if
		:: phase != CLOSED -> is_waiting = false
#ifndef M_NO_LIMIT_CLOSED
		:: timeout && phase == CLOSED && ALL_FLIGHT > 0 ->
			is_waiting = false;
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
#else
	submit(B);
#endif
	ALL_FLIGHT == 0;
	is_done = true
}

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
	:: phase == CLOSED && is_waiting -> phase = GRANTED
	:: n_turns == 2 && phase == GRANTED -> phase = OPEN /* the others have gone */
	od
}

init
{
	atomic {
		phase = GRANTED;
		run program()
	};
	is_done
}

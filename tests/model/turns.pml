/* SPDX-License-Identifier: Apache-2.0 */
/* Turns between leases when things go wrong (src/arbiter/turns.c, page.h): lease 0 has
 * two processes, lease 1 one.  A process may be killed between any two steps; the driver
 * then ends its work, and the agent clears its slot some time later.  With -DLIAR the
 * second process writes what it likes into its slot.  A drain may time out whenever the
 * slots do not say drained; the lease is then overdue until it is seen drained.
 *
 * Held: nothing of an honest process is on the device together with another lease's work,
 * unless its lease is overdue; a lease that wants the device gets it, whatever the others
 * write; a cleared slot counts nothing.
 *
 * The arbiter's store of the phase goes through a store buffer that the fence empties.
 */

#define CLOSED 0
#define GRANTED 1
#define N_PROCESSES 3
#define LEASE(p) ((p) / 2)
#define NOBODY 2

#ifndef N_COMMANDS
#define N_COMMANDS 1
#endif
#ifndef N_DEATHS
#define N_DEATHS 1
#endif

byte phase[2];
bool store_pending; /* of CLOSED, for the holder's phase */
byte open[N_PROCESSES];        /* entered - done */
bool count_moved[N_PROCESSES]; /* since the arbiter's first look at the slot */
bool alive[N_PROCESSES], wants[N_PROCESSES];
bool is_open_slot[N_PROCESSES];
byte on_device[N_PROCESSES];
bool overdue[2];
byte n_deaths, holder = NOBODY;

#define COUNT_IN(p) open[p]++
#define COUNT_OUT(p) d_step { open[p]--; count_moved[p] = true }

#define DIE_HERE \
	if \
	:: n_deaths < N_DEATHS -> n_deaths++; goto dead \
	:: true \
	fi

/* No other lease's honest work may be there, unless one of the two is overdue. */
#ifdef LIAR
#define HONEST_WORK(l) (l == 0 -> on_device[0] : on_device[2])
#else
#define HONEST_WORK(l) (l == 0 -> on_device[0] + on_device[1] : on_device[2])
#endif
#define ALONE(p) (HONEST_WORK(1 - LEASE(p)) == 0 || overdue[0] || overdue[1])

proctype process(byte p; byte n)
{
	byte i, word;

	do
	:: i < n ->
		wants[p] = true;
		do
		:: phase[LEASE(p)] == GRANTED ->
			DIE_HERE;
#ifdef M_PHASE_BEFORE_ENTERED
			word = phase[LEASE(p)];
			COUNT_IN(p);
#else
			COUNT_IN(p);
			DIE_HERE;
			word = phase[LEASE(p)];
#endif
			if
			:: word -> break
			:: else -> COUNT_OUT(p)
			fi
		od;
		wants[p] = false;
		DIE_HERE;
		d_step { assert(ALONE(p)); on_device[p]++ };
		DIE_HERE;
		/* The work ends, and later it is known to. */
		on_device[p]--;
		DIE_HERE;
		COUNT_OUT(p);
		i++
	:: else -> break
	od;
	goto out;
dead:
	atomic { on_device[p] = 0; wants[p] = false; alive[p] = false };
out:
	skip
}

/* The pidfd. */
proctype agent()
{
	byte p;

end:
	do
	:: atomic { !alive[0] && is_open_slot[0] -> p = 0 }; goto clear
	:: atomic { !alive[1] && is_open_slot[1] -> p = 1 }; goto clear
#ifdef M_CLEARS_THE_LIVING
	:: atomic { is_open_slot[0] -> p = 0 }; goto clear
#endif
	:: atomic { !alive[2] && is_open_slot[2] -> p = 2 };
clear:
		atomic {
			open[p] = 0;
			is_open_slot[p] = false
		}
	od
}

proctype store_buffer()
{
end:
	do
	:: atomic { store_pending -> phase[holder] = CLOSED; store_pending = false }
	od
}

/* Whether one slot says that work is in flight: two reads, and in the right order what
 * is done in between looks like work.  A liar's says anything. */
inline look_at(p)
{
	if
#ifdef LIAR
	:: p == 1 -> in_flight = true
	:: p == 1
#endif
	:: is_open_slot[p] ->
		count_moved[p] = false;
		in_flight = in_flight || open[p] > 0 || count_moved[p]
	:: else
	fi
}

inline look(l)
{
	in_flight = false;
	if
	:: l == 0 ->
		look_at(0);
#ifndef M_ONE_SLOT
		look_at(1)
#endif
	:: else -> look_at(2)
	fi
}

#define WANTS(l) (l == 0 -> wants[0] || wants[1] : wants[2])

proctype arbiter()
{
	bool in_flight;

end:
	do
	:: holder == NOBODY ->
end_idle:
		if
		:: WANTS(0) -> holder = 0
		:: WANTS(1) -> holder = 1
		fi;
		atomic {
			overdue[holder] = false;
			phase[holder] = GRANTED
		}
	:: holder != NOBODY ->
		/* A turn may end at any time; that gates see the deadline by themselves is
		 * in wake.pml. */
		store_pending = true;
#ifndef M_NO_FENCE
		!store_pending;
#endif
		do
		:: look(holder);
			if
			:: !in_flight -> break
			:: else ->
				/* Looks again, or gives up. */
				if
				:: overdue[holder] = true; break
				:: true
				fi
			fi
		od;
		!store_pending;
		atomic { holder = NOBODY; in_flight = false }
	od
}

init
{
	atomic {
		alive[0] = true;
		alive[1] = true;
		alive[2] = true;
		is_open_slot[0] = true;
		is_open_slot[1] = true;
		is_open_slot[2] = true;
		run arbiter();
		run store_buffer();
		run agent();
		run process(0, N_COMMANDS);
#ifndef LIAR
		run process(1, 1);
#endif
		run process(2, N_COMMANDS)
	}
}

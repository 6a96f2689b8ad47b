/* SPDX-License-Identifier: Apache-2.0 */
/* The memory quota (src/gate/memory/ledger.c): each process adds to its own slot, then sums all
 * slots, one load at a time; the agent clears a dead process's slot, some time after.
 * Any process may be killed between any two steps, and another may then get its slot.
 *
 * Held: what the vendor was asked to allocate never exceeds the quota; who is refused was
 * disturbed by another's change or truly had no room; once all is quiet the ledger is
 * exact, and what is free can be had.
 */

#define QUOTA 4
#define N_SLOTS 2

byte memory[N_SLOTS];    /* the report page */
byte allocated[N_SLOTS]; /* the truth: of the living process in the slot */
bool alive[N_SLOTS], disturbed[N_SLOTS];
byte n_deaths, n_finished;

#define OTHER(s) (1 - (s))
#define TOTAL (allocated[0] + allocated[1])

inline change(s, by) { d_step { memory[s] = memory[s] + by; disturbed[OTHER(s)] = true } }

/* A kill: nothing more happens to the slot but what the agent does. */
#define DIE_HERE \
	if \
	:: n_deaths == 0 -> n_deaths++; goto dead \
	:: true \
	fi

/* Sets ok and sum. */
inline try_charge(s, n, sum, ok)
{
#ifdef M_SUM_BEFORE_ADD
	sum = memory[0];
	sum = sum + memory[1] + n;
	change(s, n);
#else
	change(s, n);
	DIE_HERE;
	sum = memory[0];
	sum = sum + memory[1];
#endif
	ok = sum <= QUOTA;
	if
	:: !ok ->
#ifdef M_NO_SUBTRACT
		skip
#else
		change(s, -n)
#endif
	:: else
	fi
}

proctype process(byte s; byte n_charges)
{
	byte i, n, sum, again;
	bool ok;

	do
	:: i < n_charges ->
		if
		:: n = 1
		:: n = 3
		fi;
		disturbed[s] = false;
		try_charge(s, n, sum, ok);
		if
		:: !ok ->
			/* Another's reservation may have been in the way. */
			again = memory[0];
			again = again + memory[1] + n;
			if
			:: again != sum -> try_charge(s, n, sum, ok)
			:: else
			fi
		:: else
		fi;
		DIE_HERE;
		if
		:: ok ->
			skip;
			d_step {
				allocated[s] = allocated[s] + n;
				assert(TOTAL <= QUOTA)
			};
			DIE_HERE;
			if
			:: true
			:: allocated[s] = allocated[s] - n; change(s, -n)
			fi
		:: else -> assert(disturbed[s] || memory[0] + memory[1] + n > QUOTA)
		fi;
		atomic { n = 0; sum = 0; again = 0; ok = false; i++ }
	:: else -> break
	od;
	atomic { n_finished++; goto out };
dead:
	atomic { allocated[s] = 0; alive[s] = false };
out:
	skip
}

/* Clears the slot after the pidfd said so, and hands it out again. */
proctype agent()
{
	byte s;
end:
	do
#ifdef M_CLEARS_THE_LIVING
	:: atomic { n_finished == 0 -> memory[1] = 0 }
#endif
	:: atomic { !alive[0] -> s = 0 };
		goto clear
	:: atomic { !alive[1] -> s = 1 };
clear:
#ifndef M_NEVER_CLEARS
		atomic { memory[s] = 0; disturbed[OTHER(s)] = true };
#endif
		atomic { alive[s] = true; run process(s, 1) }
	od
}

init
{
	byte rest;

	atomic {
		alive[0] = true;
		alive[1] = true;
		run agent();
		run process(0, 2);
		run process(1, 1)
	};
	n_finished == N_SLOTS;
	assert(memory[0] == allocated[0] && memory[1] == allocated[1]);
	rest = QUOTA - TOTAL;
	memory[0] = memory[0] + rest;
	assert(memory[0] + memory[1] <= QUOTA)
}

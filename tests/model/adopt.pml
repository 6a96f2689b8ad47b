/* SPDX-License-Identifier: Apache-2.0 */
/* The agent's death and its successor (src/gate/attach/attachment.c, src/agent/lease/lease.c).  A lease has
 * two processes: 0 submits, 1 only holds memory and does not come back by itself.  The
 * agent may be killed between any two steps: the kernel marks its beacon, its control
 * page never changes again, and gates pass for compute.  The next agent knows both
 * processes from its store, makes a new control page, and takes the report page over from
 * the first that brings it.  With -DPAGE_LOST process 0 had lost its descriptor and gets
 * a slot in a new page.
 *
 * Held: the quota, across the change; a submission that waits is let in by somebody; once
 * all is quiet what the agent reads is exact: nothing in flight, nobody in line.
 * Waits see the beacon, as the gate's time-outs make them.
 *
 * Not covered: a thread that stops for longer than a whole attach between looking up its
 * view and counting itself in there.  Both are one step here.
 */

#define CLOSED 0
#define OPEN 1
#define QUOTA 3
#define N_COMMANDS 2

byte phase[2];  /* control page of the first and of the second agent */
bool dead;      /* the first one's beacon */
bool second_up;
byte n_slots_summed[2]; /* slots_used of each control page */

/* Report slots: 0 and 1 as first given; 2 is process 0's in a new page. */
byte open[3], waiting[3], memory[3];
byte view;      /* process 0's: which agent's */
byte on_device, unfinished;
byte allocated[2];
bool bell[2], is_finished;

#ifdef PAGE_LOST
#define SLOT(v) (v == 0 -> 0 : 2)
#else
#define SLOT(v) 0
#endif

/* Sums what the process in this view can see. */
#ifdef PAGE_LOST
#define SUM(v) (v == 0 -> memory[0] + (n_slots_summed[0] > 1 -> memory[1] : 0) : \
	memory[2] + (n_slots_summed[1] > 1 -> memory[1] : 0))
#else
#define SUM(v) (memory[0] + (n_slots_summed[v] > 1 -> memory[1] : 0))
#endif

/* clv_gate_seek_agent(), under attach_lock.  Where the slot changes, the new one gets what
 * the old one loses. */
inline seek_agent()
{
	atomic {
		if
		:: view == 0 && second_up ->
#ifdef PAGE_LOST
			memory[2] = memory[0];
			memory[0] = 0;
			moved = open[0];
#ifdef M_COPIES_COUNTS
			/* Copies, and shows it later: what changes between is lost. */
			copied = true
#else
			open[0] = 0;
			open[2] = open[2] + moved;
			view = 1
#endif
#else
			view = 1
#endif
		:: else
		fi
	};
#ifdef M_COPIES_COUNTS
	if
	:: copied -> atomic { open[2] = moved; view = 1; copied = false }
	:: else
	fi
#else
	skip
#endif
}

/* Whoever leaves does so in the present view: the counts were carried over. */
inline leave(v) { atomic { v = view; open[SLOT(v)]-- } }

proctype submitter()
{
	byte i, v, counted, word, moved;
	bool ok, copied;

	do
	:: i < N_COMMANDS ->
		atomic { v = view; ok = false; open[SLOT(v)]++ };
		word = phase[v];
		if
		:: word == OPEN -> ok = true
		:: else -> leave(v)
		fi;
		if
		:: ok
		:: else ->
			counted = SLOT(v);
			waiting[counted]++;
			do
			:: ok -> break
			:: else ->
				v = view;
#ifndef M_WAITING_STAYS
				if
				:: SLOT(v) != counted ->
					waiting[SLOT(v)]++;
					waiting[counted]--;
					counted = SLOT(v)
				:: else
				fi;
#endif
				if
#ifndef M_NO_BEACON
				:: v == 0 && dead ->
					seek_agent();
					if
					:: atomic { view == v -> open[SLOT(v)]++; ok = true }
					:: else
					fi
#endif
				:: else ->
					word = phase[v];
					if
					:: atomic { word == OPEN -> open[SLOT(view)]++; v = view };
						if
						:: phase[v] == OPEN -> ok = true
						:: else -> leave(v)
						fi
					:: else ->
						bell[v] = true;
#ifdef M_NO_BEACON
						phase[v] != word
#else
						phase[v] != word || (v == 0 && dead)
#endif
					fi
				fi
			od;
			waiting[counted]--
		fi;
		on_device++;
		unfinished++;
		i++
	:: else -> break
	od;
	is_finished = true
}

/* Completes work by the view of the moment; looks for the next agent.  It sleeps on the
 * phase word of the view that it saw. */
proctype helper()
{
	byte v, moved;
	bool copied;

end:
	do
	:: unfinished > 0 ->
		on_device--;
		unfinished--;
		leave(v);
		bell[v] = true
	:: view == 0 && dead && second_up -> seek_agent()
	od
}

/* Process 0 allocates as well, whenever. */
proctype allocator()
{
	byte v, n;

	do
	:: n < 2 ->
		atomic { v = view; memory[SLOT(v)] = memory[SLOT(v)] + 1 };
		if
		:: SUM(view) <= QUOTA ->
			allocated[0] = allocated[0] + 1;
			assert(allocated[0] + allocated[1] <= QUOTA)
		:: else -> atomic { v = view; memory[SLOT(v)] = memory[SLOT(v)] - 1 }
		fi;
		n++
	:: else -> break
	od
}

#define IN_LINE(a) (a == 0 -> waiting[0] : waiting[SLOT(1)])

proctype agent(byte a)
{
end:
	do
	:: a == 0 && dead -> break
	:: atomic { !(a == 0 && dead) && bell[a] ->
		bell[a] = false;
		if
		:: IN_LINE(a) > 0 && phase[a] == CLOSED -> phase[a] = OPEN
		:: else
		fi }
	:: atomic { !(a == 0 && dead) && phase[a] == OPEN -> phase[a] = CLOSED;
		bell[a] = IN_LINE(a) > 0 }
	od
}

proctype killer()
{
	dead = true;
	/* The successor restores the slots that its store names before it answers. */
	n_slots_summed[1] = 1;
#ifndef M_SLOTS_USED_LATE
	n_slots_summed[1] = 2;
#endif
	atomic { run agent(1); second_up = true }
}

init
{
	atomic {
		n_slots_summed[0] = 2;
		memory[1] = 2;
		allocated[1] = 2;
		run agent(0);
		run killer();
		run submitter();
		run helper();
		run allocator()
	};
	is_finished && second_up && on_device == 0 && unfinished == 0 && view == 1;
	open[SLOT(1)] == 0 && waiting[0] == 0 && waiting[SLOT(1)] == 0
}

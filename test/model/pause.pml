/*
 * A pause does not count as a run, interrupts no run, and lasts until it is resumed or over. Resuming ends a pause and nothing else.
 *
 * There is one row. Its statements are acquire, release, pause, find, and the step of `acquire a slot` that inserts the row, as in
 * ../sql/golden. There are a run, two pauses, and an operator who resumes any pause that `find` returns. A statement arrives at any
 * time after it was sent, or never; a release may arrive any number of times. Each pause has an owner of its own. A pause without
 * an answer is released afterwards, which silence.pml models in more detail. Time is modelled as what is left, as in exclusion.pml.
 *
 * safety: one run, two pauses
 * safety, large -DRUNS=2: two runs
 * mutant PAUSES_HELD: pause does not check lock_until <= now
 * mutant PAUSE_IS_RUN: pause writes locked_at
 * mutant OVERWRITES_ROW: the step that inserts a missing row does not check locked_at < slot
 * mutant RESUMES_OTHERS: the release that resumes a pause does not check the owner
 * mutant RESUMES_RUN: resuming does not check that find returned a pause
 * mutant ONE_PAUSE_OWNER: all pauses have the same owner
 * mutant CLEANS_UP_ONCE: a pause without an answer is released only once
 */
#ifndef LEASE
#define LEASE 2 /* lockAtMostFor of a run, and how long a pause lasts */
#endif
#define NEVER 1 /* locked_at of a lock that was paused and never acquired */
#ifndef RUNS
#define RUNS 1
#endif
#define ALL (RUNS + 2) /* the runs, followed by two pauses */
#define NOBODY 255

/* ---- The row */

bool exists;
byte left; /* lock_until - now; 0 if lock_until <= now */
byte locked_at;
byte locked_by = NOBODY;
byte holder = NOBODY; /* not in the row: the last run or pause that acquired it */
byte last_token = NEVER; /* not in the row: locked_at of the last run */

#ifndef ONE_PAUSE_OWNER
#define owner_of(me) (me)
#else
#define owner_of(me) (me < RUNS -> me : RUNS)
#endif
#define is_pause(owner) (owner >= RUNS && owner < ALL)
#ifndef PAUSES_HELD
#define may_pause (exists && left == 0)
#else
#define may_pause exists
#endif
#ifndef OVERWRITES_ROW
#define may_insert (!exists)
#else
#define may_insert (!exists || left == 0)
#endif

/* ---- The statements in transit, and what each process knows */

mtype = { none, waits, changed, unchanged };
bool write_sent[ALL], insert_sent[ALL], release_sent[RUNS];
mtype answer[ALL] = none;
byte lease[ALL]; /* what is left of the lease, counted from before the request */
bool is_held[ALL]; /* from the answer until the end */
bool resumed[ALL];
byte found = NOBODY; /* the owner of the pause to be resumed */
byte found_holder = NOBODY; /* the pause with this owner */

#define trusts(me) (is_held[me] && !resumed[me] && lease[me] > 0)
#define has_row(me) (!trusts(me) || (holder == me && left >= lease[me]))
#define must(property, words) if :: property :: else -> printf(words); assert(property) fi

inline check() {
  d_step {
    must(has_row(0) && (RUNS == 1 || has_row(1)), "WRONG: a run has lost its row\n");
    must(has_row(RUNS) && has_row(RUNS + 1), "WRONG: a pause ended without being resumed\n");
    must(!exists || locked_at == last_token, "WRONG: locked_at is not that of the last run\n");
  }
}

/* ---- The statements, when they arrive */

inline arrive_acquire(me) {
  atomic {
    write_sent[me] ->
    write_sent[me] = false;
    if
    :: left == 0 ->
      locked_at = (exists -> locked_at + 1 : NEVER + 1);
      exists = true; left = LEASE; locked_by = owner_of(me); holder = me; last_token = locked_at; answer[me] = changed;
      printf("run %d's acquire arrives: acquired, locked_at %d\n", me, locked_at);
    :: else -> answer[me] = unchanged; printf("run %d's acquire arrives: held\n", me);
    fi;
    check();
  }
}

inline arrive_release(me) {
  atomic {
    release_sent[me] && locked_by == owner_of(me) && left > 0 ->
    left = 0; locked_by = NOBODY;
    printf("run %d's release arrives\n", me);
    check();
  }
}

inline arrive_pause(me) {
  atomic {
    write_sent[me] ->
    write_sent[me] = false;
    if
    :: may_pause ->
      left = LEASE; locked_by = owner_of(me); holder = me; answer[me] = changed;
#ifdef PAUSE_IS_RUN
      locked_at++;
#endif
      printf("pause %d arrives: paused\n", me);
    :: else -> answer[me] = unchanged; printf("pause %d arrives, and changes nothing\n", me);
    fi;
    check();
  }
}

inline arrive_insert(me) {
  atomic {
    insert_sent[me] ->
    insert_sent[me] = false;
    if
    :: may_insert ->
      exists = true; left = LEASE; locked_at = NEVER; locked_by = owner_of(me); holder = me; answer[me] = changed;
      printf("the row of pause %d arrives: paused\n", me);
    :: else -> answer[me] = unchanged; printf("the row of pause %d arrives, but already exists\n", me);
    fi;
    check();
  }
}

/* Releases a pause once, as the clean-up does. */
inline release_pause(me) {
  if
  :: locked_by == owner_of(me) && left > 0 ->
    left = 0; locked_by = NOBODY; printf("the clean-up releases pause %d\n", me); goto cleaned;
  :: else -> printf("the clean-up finds no pause %d\n", me);
  fi
}

/* ---- Runs, pauses, and the operator who resumes them */

proctype Run(byte me) {
  atomic {
    me == 0 || answer[me - 1] != none -> /* runs are symmetric, so their order does not matter */
    write_sent[me] = true; answer[me] = waits; lease[me] = LEASE; printf("run %d sends its acquire\n", me);
  }
  if
  :: atomic { answer[me] == changed -> is_held[me] = true; printf("run %d holds the lock for %d ticks\n", me, lease[me]); check(); }
  :: true
  fi;
  atomic { is_held[me] = false; lease[me] = 0; release_sent[me] = true; printf("run %d stops\n", me); }
}

proctype Pause(byte me) {
  bool inserts, may_arrive_later;
  atomic {
    me == RUNS || answer[me - 1] != none ->
    write_sent[me] = true; answer[me] = waits; lease[me] = LEASE; printf("pause %d is sent\n", me);
  }
  do
  :: atomic { answer[me] == changed -> is_held[me] = true; printf("pause %d is reported as successful\n", me); check(); goto ended; }
  :: atomic {
      answer[me] == unchanged && !inserts ->
      inserts = true; insert_sent[me] = true; answer[me] = waits; printf("the row of pause %d is sent\n", me);
    }
  :: answer[me] == unchanged && inserts -> goto ended; /* the lock is held */
  :: atomic { answer[me] == waits || answer[me] == changed -> printf("pause %d gets no answer\n", me); break; }
  od;
  do
  :: atomic {
      may_arrive_later = write_sent[me] || insert_sent[me];
      release_pause(me);
#ifdef CLEANS_UP_ONCE
      may_arrive_later = false;
#endif
      if
      :: may_arrive_later
      :: else -> goto cleaned;
      fi;
    }
  od;
cleaned:
  atomic {
    must(!write_sent[me] && !insert_sent[me] && !(locked_by == owner_of(me) && left > 0), "WRONG: a pause without an answer may stay in effect\n");
  }
ended: skip
}

proctype Resume() {
  bool sent;
  do
  :: atomic {
#ifndef RESUMES_RUN
      !sent && left > 0 && is_pause(locked_by) ->
#else
      !sent && left > 0 && locked_by != NOBODY ->
#endif
      found = locked_by; found_holder = holder; sent = true; printf("find returns owner %d, and its release is sent\n", found);
    }
  :: atomic {
      sent ->
      sent = false;
      if
#ifndef RESUMES_OTHERS
      :: locked_by == found && left > 0 ->
#else
      :: left > 0 ->
#endif
        left = 0; locked_by = NOBODY; resumed[found_holder] = is_pause(found_holder);
        printf("the release of owner %d arrives: released\n", found);
      :: else -> printf("the release of owner %d arrives, and changes nothing\n", found);
      fi;
      check();
      found = NOBODY; found_holder = NOBODY;
    }
  od
}

proctype Network(byte me) {
  do
  :: me < RUNS -> arrive_acquire(me);
  :: me < RUNS -> arrive_release(me);
  :: me >= RUNS -> arrive_pause(me);
  :: me >= RUNS -> arrive_insert(me);
  od
}

active proctype Clock() {
  byte i;
  do
  :: atomic {
      left = (left > 0 -> left - 1 : 0);
      for (i : 0 .. ALL - 1) {
        lease[i] = (lease[i] > 0 -> lease[i] - 1 : 0);
      }
      i = 0;
      printf("a tick\n");
      check();
    }
  od
}

init {
  byte me;
  atomic {
    for (me : 0 .. ALL - 1) {
      if
      :: me < RUNS -> run Run(me);
      :: else -> run Pause(me);
      fi;
      run Network(me);
    }
    me = 0;
    run Resume();
  }
}

/*
 * A slot runs once, tokens grow, and a slot whose task never began can be acquired again.
 *
 * There is one row. Its statements are acquire, `acquire a slot` (read, then write), release and releaseUnused, as in
 * ../sql/golden. Each acquisition is for one of two slots or for none. Its write arrives at any time after it was sent, or never; a
 * release may arrive any number of times. If there is no answer in time, or only after the lease, the acquisition releases the row
 * unused. The instances' clocks may be wrong, so any slot may be tried at any time.
 *
 * safety: three acquisitions, two slots
 * safety, large -DEND=6: for longer
 * mutant WRITES_SLOT_AGAIN -DACQUISITIONS=2: a slot is written without checking locked_at < slot
 * mutant SLOT_IS_NOW -DACQUISITIONS=2: locked_at becomes the database's time, not the slot
 * mutant SLOT_FAR_AHEAD -DACQUISITIONS=2: the read accepts a slot that is far ahead of the database's clock
 * mutant TOKEN_IS_NOW -DACQUISITIONS=2: locked_at becomes the database's time even if it is that or later already
 * mutant UNUSED_OF_OTHERS -DACQUISITIONS=2: releaseUnused does not check the owner
 * mutant UNUSED_KEEPS_OWNER -DACQUISITIONS=2: releaseUnused leaves locked_by unchanged
 * mutant UNUSED_KEEPS_SLOT -DACQUISITIONS=2: releaseUnused leaves locked_at unchanged
 * mutant UNUSED_WHILE_HELD -DACQUISITIONS=2: releaseUnused requires lock_until > now
 * mutant UNUSED_AFTER_RUN -DACQUISITIONS=2: a lock whose task began is released as unused
 * mutant RUNS_AFTER_LEASE -DACQUISITIONS=2: the task begins although the answer arrived after the lease
 * limit SLOT_LOST_TO_TOKEN -DAT_MOST_AHEAD=2 -DEARLY=3 -DLATE=3 -DEND=3: a slot that was acquired before its time and released unused is lost if a lock without a slot comes next, before that time, because that lock gets the slot as its token
 */
#ifndef ACQUISITIONS
#define ACQUISITIONS 3
#endif
#define LEASE 2 /* lockAtMostFor */
#ifndef AT_MOST_AHEAD
#define AT_MOST_AHEAD 1 /* how far a slot may lie ahead of the database's clock */
#endif
#ifndef EARLY
#define EARLY 2 /* one slot */
#endif
#ifndef LATE
#define LATE 4 /* the next */
#endif
#ifndef END
#define END 5 /* the last time of the database's clock */
#endif
#define NOBODY 255

/* ---- The row, and the database's clock */

byte now = 1;
byte lock_until, locked_at; /* 0: the row does not exist yet */
byte locked_by = NOBODY; /* NOBODY: the row does not exist, or was released by its owner */

#ifndef WRITES_SLOT_AGAIN
#define is_free(slot) (lock_until <= now && (slot == 0 || locked_at < slot))
#else
#define is_free(slot) (lock_until <= now)
#endif
#ifndef UNUSED_OF_OTHERS
#ifndef UNUSED_WHILE_HELD
#define may_release_unused(me) (locked_by == me)
#else
#define may_release_unused(me) (locked_by == me && lock_until > now)
#endif
#else
#define may_release_unused(me) (locked_by != NOBODY)
#endif

/* ---- The statements in transit, what each acquisition knows, and what has happened */

mtype = { none, waits, changed, unchanged };
bool acquire_sent[ACQUISITIONS], release_sent[ACQUISITIONS], unused_sent[ACQUISITIONS];
mtype answer[ACQUISITIONS] = none;
byte slot_of[ACQUISITIONS], lease_ends[ACQUISITIONS];
byte holder = NOBODY; /* the last acquisition of the row */
byte token[ACQUISITIONS]; /* locked_at at the acquisition */
byte acquired; /* how many times the row was acquired */
bool has_run_early, has_run_late; /* whether a task for this slot began */
byte last_token; /* the token of the last task that began */
byte begun; /* how many acquisitions have begun; they are called A, B, C in this order */
#ifdef SLOT_LOST_TO_TOKEN
byte last_reason; /* the latest slot or token that was acquired and not released unused */
bool is_unused; /* whether the last one was released unused */
#endif

#define letter(me) ('A' + me)
#define must(property, words) if :: property :: else -> printf(words); assert(property) fi

/* ---- The statements, when they arrive */

inline arrive_acquire(me) {
  atomic {
    acquire_sent[me] ->
    acquire_sent[me] = false;
    if
    :: is_free(slot_of[me]) ->
      lock_until = now + LEASE; locked_by = me; holder = me; acquired++;
#ifndef SLOT_IS_NOW
      if
      :: slot_of[me] > 0 -> locked_at = slot_of[me];
      :: slot_of[me] == 0 && locked_at < now -> locked_at = now;
#ifndef TOKEN_IS_NOW
      :: slot_of[me] == 0 && locked_at >= now -> locked_at++;
#else
      :: slot_of[me] == 0 && locked_at >= now -> locked_at = now;
#endif
      fi;
#else
      locked_at = (locked_at < now -> now : locked_at + 1);
#endif
      token[me] = locked_at; answer[me] = changed;
#ifdef SLOT_LOST_TO_TOKEN
      /* Ignore a second token within the same tick: in reality it is a millisecond later, and slots are minutes apart. */
      last_reason = (slot_of[me] > 0 || !is_unused -> locked_at : last_reason);
      is_unused = false;
#endif
      printf("%c's acquire arrives at %d: lock_until %d, locked_at %d\n", letter(me), now, lock_until, locked_at);
      must(locked_at <= now + AT_MOST_AHEAD + acquired, "WRONG: locked_at is far ahead of the clock\n");
    :: else ->
      answer[me] = unchanged;
      printf("%c's acquire arrives at %d, and changes nothing\n", letter(me), now);
    fi
  }
}

inline arrive_release(me) {
  atomic {
    release_sent[me] && locked_by == me ->
    lock_until = now; locked_by = NOBODY;
    printf("%c's release arrives at %d\n", letter(me), now);
  }
}

inline arrive_unused(me) {
  atomic {
    unused_sent[me] ->
    if
    :: may_release_unused(me) ->
      lock_until = now;
#ifndef UNUSED_KEEPS_OWNER
      locked_by = NOBODY;
#endif
#ifndef UNUSED_KEEPS_SLOT
      if
      :: slot_of[me] > 0 -> locked_at--;
      :: else
      fi;
#endif
#ifdef SLOT_LOST_TO_TOKEN
      is_unused = slot_of[me] > 0;
      last_reason = (is_unused -> locked_at : last_reason);
#endif
      printf("%c's releaseUnused arrives at %d: locked_at %d\n", letter(me), now, locked_at);
      must(holder == me, "WRONG: a late releaseUnused changed the row of another acquisition\n");
      must(slot_of[me] == 0 || locked_at + 1 >= slot_of[me], "WRONG: earlier slots can be acquired again\n");
    :: else -> printf("%c's releaseUnused arrives at %d, and changes nothing\n", letter(me), now);
    fi;
    if
    :: holder == me && slot_of[me] > 0 ->
      must(lock_until <= now && locked_at < slot_of[me], "WRONG: a slot that was released unused cannot be acquired\n");
    :: else
    fi;
  }
}

proctype Network(byte me) {
  do
  :: arrive_acquire(me)
  :: arrive_release(me)
  :: arrive_unused(me)
  od
}

/* ---- An acquisition, with its task */

inline choose_slot() {
  if
  :: slot_of[me] = 0;
  :: slot_of[me] = EARLY;
  :: slot_of[me] = LATE;
  fi
}

/* The first step of `acquire a slot`: reads whether the acquisition must be refused. */
inline read_row() {
  if
  :: lock_until > now -> printf("%c reads at %d: held\n", letter(me), now); goto end;
  :: lock_until <= now && slot_of[me] > 0 && locked_at >= slot_of[me] ->
    printf("%c reads at %d for slot %d: already-run\n", letter(me), now, slot_of[me]);
#ifdef SLOT_LOST_TO_TOKEN
    must(slot_of[me] <= last_reason, "WRONG: the refused slot was never used, nor a later one\n");
#endif
    goto end;
#ifndef SLOT_FAR_AHEAD
  :: lock_until <= now && slot_of[me] > now + AT_MOST_AHEAD && locked_at < slot_of[me] ->
    printf("%c reads at %d for slot %d: slot-too-far-ahead\n", letter(me), now, slot_of[me]); goto end;
#endif
  :: else
  fi
}

inline begin_task() {
  must(token[me] > last_token, "WRONG: the token did not grow\n");
  must(slot_of[me] != EARLY || !has_run_early, "WRONG: a slot was run twice\n");
  must(slot_of[me] != LATE || !has_run_late, "WRONG: a slot was run twice\n");
  last_token = token[me];
  has_run_early = has_run_early || slot_of[me] == EARLY;
  has_run_late = has_run_late || slot_of[me] == LATE;
  printf("%c's task begins at %d, with slot %d and token %d\n", letter(me), now, slot_of[me], token[me]);
}

proctype Acquisition(byte me) {
  atomic {
    begun == me -> begun++;
    choose_slot();
    read_row();
    acquire_sent[me] = true; answer[me] = waits; lease_ends[me] = now + LEASE;
    printf("%c sends its acquire at %d, with slot %d\n", letter(me), now, slot_of[me]);
  }
  if
#ifndef RUNS_AFTER_LEASE
  :: atomic { answer[me] == changed && now < lease_ends[me] -> begin_task(); }
#else
  :: atomic { answer[me] == changed -> begin_task(); }
#endif
#ifndef UNUSED_AFTER_RUN
    atomic { release_sent[me] = true; printf("%c sends its release\n", letter(me)); goto end; }
#endif
  :: answer[me] != unchanged /* no answer in time, or an answer after the lease */
  fi;
  atomic {
    printf("%c sends its release, unused\n", letter(me));
    if
    :: slot_of[me] > 0 -> unused_sent[me] = true;
    :: else -> release_sent[me] = true;
    fi;
  }
end: skip
}

active proctype Clock() {
  do
  :: atomic { now < END -> now++; printf("the time is %d\n", now); }
  od
}

init {
  byte i;
  atomic {
    for (i : 0 .. ACQUISITIONS - 1) {
      run Acquisition(i);
      run Network(i);
    }
  }
}

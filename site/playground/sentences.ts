const [guarantees, durations] = ['/docs/how-a-lock-behaves', '/docs/schedulers#how-long']
const cases = '/docs/schedulers#seven-cases'

/** For each action of the visitor, with instance A as the example: the button, what happens, and the page that promises it. */
export const sentences = {
  first: ['', 'Kill the instance that runs the job, and watch its lock.', guarantees],
  unlock: [
    'Switch the lock off',
    'Without a lock, every instance runs the job at every tick.',
    '/docs/guides/which-lock',
  ],
  lock: ['Switch the lock on', 'One instance runs the job at each tick, and the others skip.', guarantees],
  kill: ['Kill', 'If A was running, nobody runs until its lock expires; then another instance does.', cases],
  start: [
    'Start',
    'A starts as a new process: it skips while the lock is held, even by its predecessor.',
    guarantees,
  ],
  pause: [
    'Pause',
    'A stands still, even during a run: its lock expires, and another instance runs.',
    guarantees,
  ],
  wake: [
    'Wake',
    'If A was running and its lock expired, it learns so now: its signal aborts, and its late release changes nothing.',
    '/docs/how-a-lock-behaves#the-lease-and-the-signal',
  ],
  late: [
    'Late clock',
    'The clock of A is 1.1 s late: A runs again what has run. Set lockAtLeastFor to 1800ms, or a slot, and it skips.',
    cases,
  ],
  right: [
    'Right clock',
    'The clock of A is right. For the lock, only the clock of the database counts.',
    guarantees,
  ],
  cut: [
    'Cut the database off',
    'No lock, no run: without an answer, each tick ends with TIMEOUT.',
    guarantees,
  ],
  connect: [
    'Connect the database',
    'The database answers again: the job runs at the next tick at which the lock is free.',
    guarantees,
  ],
  takes: ['', 'A run longer than lockAtMostFor loses its lock, and the next run begins beside it.', cases],
  lockAtMostFor: ['', 'After a kill during a run, nobody runs the job for this long.', durations],
  lockAtLeastFor: [
    '',
    'The lock stays held for this long, however short the run: late clocks skip.',
    durations,
  ],
  slot: [
    '',
    'With a slot, the job runs once at each tick, however late a clock is.',
    '/docs/schedulers#slots',
  ],
} as const

export type Sentence = keyof typeof sentences

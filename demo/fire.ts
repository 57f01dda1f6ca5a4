/** One time that a process's scheduler fired. */
export interface Fire {
  readonly process: string
  /** The second that it was scheduled for, in milliseconds since 1970. */
  readonly tick: number
  readonly outcome: 'ran' | 'skipped' | 'late' | 'error' | 'killed'
}

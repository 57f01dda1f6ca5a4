/** The owner of a row, for one acquisition. */
export interface Holder {
  readonly name: string
  readonly lockedBy: string
  /** Whether `locked_at` is a slot, which is given back if the task never began. */
  readonly hasSlot?: boolean
}

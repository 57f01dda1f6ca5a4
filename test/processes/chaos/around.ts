type Step = () => Promise<void>

/** Does one thing before the work, and takes it back afterwards, whatever becomes of the work. */
export async function around(before: Step, work: Step, after: Step): Promise<void> {
  await before()
  try {
    await work()
  } finally {
    await after()
  }
}

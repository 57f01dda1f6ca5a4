/** No answer within the time limit; the work itself goes on, and may still succeed. */
export class TimeLimitError extends Error {
  override readonly name = 'TimeLimitError'

  constructor(limit: number) {
    super(`no answer within ${Math.round(limit)} ms`)
  }
}

/** Waits for the work, but not longer than these milliseconds. */
export async function withTimeLimit<T>(limit: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new TimeLimitError(limit))
    }, limit)
  })
  try {
    return await Promise.race([work, timeout])
  } finally {
    clearTimeout(timer)
  }
}

/** No answer within the time limit; the work itself goes on, and may still succeed. */
export class TimeLimitError extends Error {
  override readonly name = 'TimeLimitError'
}

/** Waits for the work, but not longer than these milliseconds. */
export async function withTimeLimit<T>(limit: number, work: Promise<T>): Promise<T> {
  let timer: NodeJS.Timeout | undefined
  const timeout = new Promise<never>((_, reject) => {
    timer = setTimeout(() => {
      reject(new TimeLimitError())
    }, limit)
  })
  try {
    return await Promise.race([work, timeout])
  } finally {
    clearTimeout(timer)
  }
}

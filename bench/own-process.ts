import { fork } from 'node:child_process'

/** Runs a file in a process of its own, so that nothing else uses memory there. Resolves to its answer. */
export function inOwnProcess<T>(file: string): Promise<T> {
  const child = fork(file, { execArgv: [...process.execArgv, '--expose-gc'] })
  return new Promise((resolve, reject) => {
    child.once('message', (answer) => {
      resolve(answer as T)
    })
    child.once('exit', (code) => {
      reject(new Error(`${file} ended with ${String(code)} and no answer.`))
    })
  })
}

/** Sends the answer; called in that process. */
export async function answerWith(work: () => Promise<object>): Promise<void> {
  process.send?.(await work())
  process.disconnect?.()
}

/** Returns the bytes of heap in use after garbage collection. */
export function heap(): number {
  globalThis.gc?.()
  globalThis.gc?.()
  return process.memoryUsage().heapUsed
}

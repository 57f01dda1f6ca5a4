import type { TestProject } from 'vitest/node'
import { findBackends, type FoundBackend } from './backends/find-backends'

declare module 'vitest' {
  interface ProvidedContext {
    backends: FoundBackend[]
  }
}

/** Finds the backends once for the whole run, and tells at its end which of them took part. */
export default async function setup(project: TestProject): Promise<() => Promise<void>> {
  const { backends, stop } = await findBackends()
  project.provide('backends', backends)
  return async () => {
    await stop()
    console.log('\nBackends')
    for (const { name, url, note } of backends) {
      console.log(`  ${url === undefined ? 'not run' : 'run    '}  ${name.padEnd(13)}  ${note}`)
    }
  }
}

import { found } from './global-setup'

/** Tells at the end of the run which backends took part. */
export default async function globalTeardown(): Promise<void> {
  await found.stop?.()
  console.log('\nBackends')
  for (const { name, url, note } of found.backends ?? []) {
    console.log(`  ${url === undefined ? 'not run' : 'run    '}  ${name.padEnd(13)}  ${note}`)
  }
}

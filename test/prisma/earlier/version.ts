import { join } from 'node:path'

/** The version of Prisma that `npm run test:earlier-prisma` tries, a folder beside this file: `PRISMA=6.19`, by default `5.22`. */
export const PRISMA = process.env['PRISMA'] ?? '5.22'
export const PACKAGES = join(__dirname, PRISMA, 'node_modules')
/**
 * Whether the clients use Prisma's native engine, which Prisma downloads, without a driver adapter. By default the same core of the
 * engine runs as WebAssembly, with driver adapters.
 */
export const NATIVE = process.env['PRISMA_ENGINE'] === 'native'

/** Returns the folder of the client that was generated for a provider. */
export function generated(provider: string): string {
  return join(__dirname, PRISMA, 'generated', provider)
}

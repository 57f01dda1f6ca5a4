import { join } from 'node:path'

/** The version of Prisma that `npm run test:earlier-prisma` tries, a folder beside this file: `PRISMA=6.19`, by default `5.22`. */
export const PRISMA = process.env['PRISMA'] ?? '5.22'
export const PACKAGES = join(__dirname, PRISMA, 'node_modules')
/**
 * The engine of the clients: `native`, which Prisma downloads, without a driver adapter; by default the same core as WebAssembly, with
 * driver adapters; or, from Prisma 6.16 on, `client`, which has no core in Rust.
 */
export const ENGINE = process.env['PRISMA_ENGINE'] ?? 'wasm'

/** Returns the folder of the client that was generated for a provider. */
export function generated(provider: string): string {
  return join(__dirname, PRISMA, 'generated', provider)
}

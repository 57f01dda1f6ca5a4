import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { root } from '../project'

/** All that is written for people, as paths from the root; not the API reference, which is generated. */
export function documents(): string[] {
  const inside = (folder: string): string[] =>
    readdirSync(join(root, folder), { recursive: folder !== '', encoding: 'utf8' })
      .map((file) => join(folder, file).replaceAll('\\', '/'))
      .filter((file) => file.endsWith('.md') && !/^docs\/api\/|node_modules/.test(file))
  return ['', 'docs', 'verification', '.github'].flatMap(inside)
}

/** Of these, the pages whose TypeScript is checked. */
export function pages(): string[] {
  return documents().filter((file) => file === 'README.md' || file.startsWith('docs/'))
}

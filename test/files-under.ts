import { readdirSync } from 'node:fs'
import { join } from 'node:path'
import { read, root } from './project'

/** The files under a folder of the project, and what they contain. */
export function filesUnder(folder: string): ReadonlyMap<string, string> {
  const found = readdirSync(join(root, folder), { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name).slice(join(root, folder).length + 1))
  return new Map(found.map((path) => [path, read(join(folder, path))]))
}

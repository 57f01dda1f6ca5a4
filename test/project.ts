import { readFileSync } from 'node:fs'
import { join } from 'node:path'

export const root = join(__dirname, '..')

/** @param file a path from the root */
export const read = (file: string): string => readFileSync(join(root, file), 'utf8')

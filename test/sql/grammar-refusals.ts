import { spawnSync } from 'node:child_process'
import { join } from 'node:path'
import type { DialectName as Grammar } from '@guanmingchiu/sqlparser-ts'

/** For each text what somebody else's grammar says against it, or `null`. */
export function refusals(
  texts: readonly { readonly text: string; readonly grammar: Grammar }[],
): (string | null)[] {
  const input = JSON.stringify(texts)
  const { stdout, stderr } = spawnSync(process.execPath, [join(__dirname, 'validate-sql.mjs')], { input })
  if (stdout.length === 0) throw new Error(String(stderr))
  return JSON.parse(String(stdout)) as (string | null)[]
}

import { spawnSync } from 'node:child_process'

/** Runs Node.js there, and fails with all that it said. @returns what it wrote to its standard output */
export function node(cwd: string, ...args: string[]): string {
  const { status, stdout, stderr } = spawnSync(process.execPath, args, { cwd, encoding: 'utf8' })
  if (status !== 0) throw new Error(`${args.join(' ')} ended with ${status}:\n${stdout}${stderr}`)
  return stdout
}

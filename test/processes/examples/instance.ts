import { spawn } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'
import type { afterTest } from '../../after-test'
import type { APPS } from './programs'

export class Instance {
  readonly #child
  readonly #lines: string[] = []
  #errors = ''
  #isStopped = false

  constructor(cwd: string, args: readonly string[], environment: NodeJS.ProcessEnv) {
    this.#child = spawn(process.execPath, args, {
      ...{ cwd, env: { ...process.env, ...environment }, stdio: ['pipe', 'pipe', 'pipe'] },
    })
    createInterface(this.#child.stdout).on('line', (line) => this.#lines.push(line))
    this.#child.stderr.on('data', (data: Buffer) => (this.#errors += data.toString()))
  }

  /**
   * All that it printed.
   *
   * @throws when it has ended by itself, which no app does
   */
  get lines(): readonly string[] {
    if (this.#child.exitCode !== null && !this.#isStopped) throw new Error(`It has ended: ${this.#errors}`)
    return this.#lines
  }

  /** What followed in each line that begins so, such as the slots after `ran report`. */
  said(beginning: string): string[] {
    const begin = `${beginning} `
    return this.lines.flatMap((line) => (`${line} `.startsWith(begin) ? [line.slice(begin.length)] : []))
  }

  firesOf(lock: string): string[] {
    return this.lines.filter((line) => line.includes(` ${lock} `))
  }

  /** Lets its job end, if that waits for it. */
  endJob(): void {
    this.#child.stdin.write('end\n')
  }

  /** Sends the signal more than once, as npm, nodemon and `tsx watch` do. */
  async stop(signal: NodeJS.Signals = 'SIGKILL'): Promise<void> {
    this.#isStopped = true
    if (this.#child.exitCode !== null || this.#child.signalCode !== null) return
    const ended = once(this.#child, 'exit')
    const again = setInterval(() => this.#child.kill(signal), 20)
    await ended
    clearInterval(again)
  }
}

/** Starts one of the apps with these of its files, until the test or the file is over. */
export function startApp(
  app: keyof typeof APPS,
  files: readonly string[],
  environment: NodeJS.ProcessEnv,
  after: typeof afterTest,
): Instance {
  const folder = join(process.env['COMPILED_PROGRAMS'] ?? '', app)
  const instance = new Instance(folder, ['main.js', ...files.map((file) => `./${file}.js`)], environment)
  after(() => instance.stop())
  return instance
}

import { spawn, type ChildProcess } from 'node:child_process'
import { once } from 'node:events'
import { join } from 'node:path'
import { createInterface } from 'node:readline'

const compiled = join(__dirname, '../../../examples/dist')
/** Those of `package.json` beside this file. */
const servers = join(__dirname, 'node_modules')

/** One instance of an example, and what it has printed. */
export class ExampleProcess {
  readonly lines: string[] = []
  readonly ended: Promise<unknown>
  readonly #child: ChildProcess
  #errors = ''

  constructor(script: string, environment: Readonly<Record<string, string>>) {
    const child = spawn(process.execPath, [join(compiled, script)], {
      env: { ...process.env, ...environment, PORT: '0', NODE_PATH: servers },
      stdio: ['ignore', 'pipe', 'pipe'],
    })
    createInterface(child.stdout).on('line', (line) => this.lines.push(line))
    child.stderr.on('data', (data: Buffer) => (this.#errors += data.toString()))
    this.ended = once(child, 'exit')
    this.#child = child
  }

  /** What followed the word in each line that begins with it, such as the times after `begin`. */
  said(word: string): string[] {
    return this.lines.filter((line) => line.startsWith(word)).map((line) => line.slice(word.length + 1))
  }

  /** @throws when it has ended, which no example does by itself */
  isReady(): boolean {
    if (this.#child.exitCode !== null) throw new Error(`It has ended: ${this.#errors}`)
    return this.said('ready').length > 0
  }

  async stop(signal: NodeJS.Signals): Promise<void> {
    this.#child.kill(signal)
    await this.ended
  }
}

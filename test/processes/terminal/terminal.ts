import { spawn } from 'node:child_process'
import { Terminal, type IBufferLine } from '@xterm/headless'
import { root } from '../../project'

/** The terminal of a person. Node.js shows no colours where CI is set. */
const PERSON = { TERM: 'xterm-256color', CI: undefined, FORCE_COLOR: undefined, NO_COLOR: undefined }

/** What a person sees of a program: in a terminal of its own, whose escape sequences an emulator has interpreted. */
export function openTerminal(
  command: readonly string[],
  { columns, rows = 40 }: { readonly columns: number; readonly rows?: number },
  env: Readonly<Record<string, string | undefined>> = {},
) {
  const quoted = command.map((word) => `'${word}'`).join(' ')
  const inside = `stty cols ${columns} rows ${rows}; exec ${quoted}`
  const child = spawn('script', ['--quiet', '--return', '--command', inside, '/dev/null'], {
    cwd: root,
    env: { ...process.env, ...PERSON, ...env },
  })
  const terminal = new Terminal({ cols: columns, rows, scrollback: 10_000, allowProposedApi: true })
  let written = ''
  let seen = Promise.resolve()
  child.stdout.setEncoding('utf8').on('data', (text: string) => {
    written += text
    seen = new Promise((resolve) => terminal.write(text, resolve))
  })
  const exited = new Promise<number | null>((resolve, reject) => {
    child.on('error', reject).on('close', resolve)
  })
  const lines = (isShown: (line: IBufferLine) => boolean): string[] => {
    const { active } = terminal.buffer
    const all = Array.from({ length: active.length }, (_, index) => active.getLine(index))
    return all.flatMap((line) => (line && isShown(line) ? [line.translateToString(true)] : []))
  }
  return {
    /** Every line, those that have scrolled away too. A line that was too long for the terminal is several. */
    lines: () => lines(() => true),
    /** Those that continue the line before. */
    wrapped: () => lines(({ isWrapped }) => isWrapped),
    /** Everything that the program wrote, with its escape sequences. */
    written: () => written,
    type: (keys: string) => child.stdin.write(keys),
    /** The exit status of the program. */
    ended: exited.then(async (status) => {
      await seen
      return status
    }),
    /** Ends the program if it has not ended. */
    close: async () => {
      child.kill('SIGKILL')
      await exited
    },
  }
}

import { read } from '../project'

export interface Program {
  readonly page: string
  readonly heading: string
  readonly file: string
  readonly text: string
  /** Whether it is a program to run: not if it is a file for others to import, or marked `no-run` or `fragment`. */
  readonly run: boolean
}

interface Block {
  readonly mark: string | undefined
  readonly text: string
  /** The name that its first line says, `// name.ts`. */
  readonly file: string | undefined
  readonly line: number
}

const BLOCK = /^( *)```ts(?: (no-run|fragment))?\n(.*?)^ *```$/gms

/**
 * The `ts` blocks under one heading are one program; a block that begins with `// name.ts` is a file of that name. A block
 * that is marked `fragment` stands alone, and takes the names of `taken-for-granted.ts` for granted.
 */
export function programs(page: string): Program[] {
  let line = 1
  return read(page)
    .split(/^(?=## )/m)
    .flatMap((section) => {
      const heading = /^## (.*)/.exec(section)?.[1] ?? 'top'
      const blocks = blocksOf(section, line)
      line += section.split('\n').length - 1
      const alone = blocks.filter(({ file, mark }) => file !== undefined || mark === 'fragment')
      const together = blocks.filter((block) => !alone.includes(block))
      const of = (block: Block, rest: Partial<Program> = {}): Program => ({
        ...{ page, heading, text: block.text, run: false, ...rest },
        file: block.file ?? `line-${block.line}.mts`,
      })
      const [first] = together
      const text = together.map((block) => block.text).join('\n')
      const run = together.every(({ mark }) => mark === undefined)
      return [...alone.map((block) => of(block)), ...(first ? [of(first, { text, run })] : [])]
    })
}

function blocksOf(section: string, firstLine: number): Block[] {
  return [...section.matchAll(BLOCK)].map(({ index, 1: indent = '', 2: mark, 3: indented = '' }) => {
    const text = indented.replace(new RegExp(`^${indent}`, 'gm'), '')
    const file = /^\/\/ (\S+\.ts)$/m.exec(text.split('\n', 1)[0] ?? '')?.[1]
    return { mark, text, file, line: firstLine + section.slice(0, index).split('\n').length }
  })
}

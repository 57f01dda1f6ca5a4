import { styleText } from 'node:util'

// Lays out text on a terminal. In a pipe or a file nothing is cut, wrapped or coloured, so that other programs get all of it.

/** A piece of text and its style on a terminal with colours. */
export type Cell = string | readonly [text: string, style: Parameters<typeof styleText>[0]]

/** The number of characters that fit on a line. */
export function terminalWidth({ isTTY, columns }: NodeJS.WriteStream = process.stdout): number {
  // Some terminals report a size of 0.
  return isTTY ? columns || 80 : Infinity
}

/** SQL that must not be broken: a line break inside quotes would become part of a name or a value. */
const SQL_WORD = /(?:'[^']*'|"[^"]*"|`[^`]*`|[^\s'"`])+/g

/** Breaks long lines between words. Indented lines are SQL. */
export function wrap(text: string, width: number): string[] {
  return text.split('\n').flatMap((line) => {
    const [indent = ''] = /^ */.exec(line) ?? []
    const words = indent === '' ? line.split(' ') : (line.match(SQL_WORD) ?? [])
    if (line.length <= width || indent + words.join(' ') !== line) return [line]
    const lines: string[] = []
    for (const word of words) {
      const last = lines.pop()
      const longer = last === undefined ? indent + word : `${last} ${word}`
      if (last === undefined || longer.length <= width) lines.push(longer)
      else lines.push(last, indent + indent + word)
    }
    return lines
  })
}

/** Puts each text beside its label, or below a long one. Long text is wrapped below its first line. */
export function labelled(rows: readonly (readonly [label: Cell, text: Cell])[]): string {
  const width = terminalWidth()
  const widths = rows.map(([label]) => textOf(label).length)
  const indent = Math.max(0, ...widths.filter((length) => length <= width / 2)) + 2
  return rows
    .flatMap(([label, text]) => {
      const name = textOf(label)
      const lines = wrap(textOf(text), width - indent).map((line) => styled(text, line))
      const isLong = name.length + 2 > indent
      const head = `${styled(label, name)}${isLong ? '' : ' '.repeat(indent - name.length)}`
      const [first = '', ...others] = isLong ? ['', ...lines] : lines
      return [head + first, ...others.map((line) => ' '.repeat(indent) + line)]
    })
    .join('\n')
}

function textOf(cell: Cell): string {
  return typeof cell === 'string' ? cell : cell[0]
}

/** @param text the part of the cell's text to show */
function styled(cell: Cell, text: string): string {
  return typeof cell === 'string' || text === '' ? text : styleText(cell[1], text)
}

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

/** Formats each row as one line, which ends with `…` where the terminal ends. A column is no wider than `widest`, but for its long cells. */
export function columns(rows: readonly (readonly Cell[])[], width: number, widest: number): string {
  const widths: number[] = []
  for (const row of rows)
    for (const [index, cell] of row.entries())
      widths[index] = Math.max(widths[index] ?? 0, Math.min(textOf(cell).length, widest))
  return rows
    .map((row) => {
      let line = ''
      let length = 0
      for (const [index, cell] of row.entries()) {
        const text = cut(textOf(cell), width - length)
        const gap =
          index === row.length - 1 ? '' : ' '.repeat(Math.max(0, (widths[index] ?? 0) - text.length) + 2)
        line += styled(cell, text) + gap
        length += text.length + gap.length
      }
      return line.trimEnd()
    })
    .join('\n')
}

/** Puts each text beside its label. Long text is wrapped below its first line. */
export function labelled(rows: readonly (readonly [label: Cell, text: Cell])[]): string {
  const width = terminalWidth()
  const labelWidth = Math.min(Math.max(...rows.map(([label]) => textOf(label).length)), Math.floor(width / 2))
  return rows
    .flatMap(([label, text]) =>
      wrap(textOf(text), width - labelWidth - 2).map((line, index) => {
        const shown = index === 0 ? cut(textOf(label), labelWidth) : ''
        return `${styled(label, shown)}${' '.repeat(labelWidth - shown.length)}  ${styled(text, line)}`
      }),
    )
    .join('\n')
}

/** Replaces the end of a text that is too long by `…`. */
function cut(text: string, width: number): string {
  return text.length <= width ? text : width < 1 ? '' : `${text.slice(0, width - 1)}…`
}

function textOf(cell: Cell): string {
  return typeof cell === 'string' ? cell : cell[0]
}

/** @param text the part of the cell's text to show */
function styled(cell: Cell, text: string): string {
  return typeof cell === 'string' || text === '' ? text : styleText(cell[1], text)
}

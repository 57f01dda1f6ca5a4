import { Help } from 'commander'

// Lays out text on a terminal. In a pipe or a file nothing is cut, wrapped or coloured, so that other programs get all of it.

const help = Object.assign(new Help(), { minWidthToWrap: 0 })

/** The number of characters that fit on a line. */
export function terminalWidth({ isTTY, columns }: NodeJS.WriteStream = process.stdout): number {
  // Some terminals report a size of 0.
  return isTTY ? columns || 80 : Infinity
}

/** What must not be broken in SQL: a line break inside quotes would become part of a name or a value. */
const QUOTED = /'[^']*'|"[^"]*"|`[^`]*`/g

/** Breaks long lines between words, as the help does. Indented lines are SQL. */
export function wrap(text: string, width: number): string {
  return text.replace(/^( *)(.+)$/gm, (_, indent: string, line: string) => {
    const words = indent === '' ? line : line.replace(QUOTED, (quoted) => quoted.replaceAll(' ', '\0'))
    const lines = help.boxWrap(words, width - 2 * indent.length).replaceAll('\n', `\n${indent}${indent}`)
    return indent + lines.replaceAll('\0', ' ')
  })
}

/** Puts each text beside its label, or below a long one. Long text is wrapped below its first line. Both may be coloured. */
export function labelled(rows: readonly (readonly [label: string, text: string])[]): string {
  const width = terminalWidth()
  const widths = rows.map(([label]) => help.displayWidth(label))
  const indent = Math.max(0, ...widths.filter((length) => length <= width / 2)) + 2
  const margin = `\n${' '.repeat(indent)}`
  return rows
    .map(([label, text]) => {
      const space = indent - help.displayWidth(label)
      const lines = wrap(text, width - indent).replaceAll('\n', margin)
      return label + (space < 2 ? margin : ' '.repeat(space)) + lines
    })
    .join('\n')
}

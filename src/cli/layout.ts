import { styleText } from 'node:util'

// Lays out text on a terminal. In a pipe or a file nothing is cut, wrapped or coloured, so that other programs get all of it.

/** A piece of text and its style on a terminal with colours. */
export type Cell = string | readonly [text: string, style: Parameters<typeof styleText>[0]]

/** The number of characters that fit on a line. */
export function terminalWidth({ isTTY, columns }: NodeJS.WriteStream = process.stdout): number {
  // Some terminals report a size of 0.
  return isTTY ? columns || 80 : Infinity
}

const ZERO_WIDTH = /[\p{Mn}\p{Me}]/u
const DOUBLE_WIDTH =
  /[\p{Script=Han}\p{Script=Hiragana}\p{Script=Katakana}\p{Script=Hangul}\p{Emoji_Presentation}\u3000-\u303E\uFF01-\uFF60\uFFE0-\uFFE6]/u

/** The number of terminal columns that the text takes, or slightly more. */
export function displayWidth(text: string): number {
  let width = 0
  for (const character of text) width += ZERO_WIDTH.test(character) ? 0 : DOUBLE_WIDTH.test(character) ? 2 : 1
  return width
}

/** Replaces the end of a text that is too long by `…`. */
export function cut(text: string, width: number): string {
  if (displayWidth(text) <= width) return text
  let kept = ''
  for (const character of text) {
    if (displayWidth(kept + character) >= width) break
    kept += character
  }
  return `${kept}…`
}

/** SQL that must not be broken: a line break inside quotes would become part of a name or a value. */
const SQL_WORD = /(?:'[^']*'|"[^"]*"|`[^`]*`|[^\s'"`])+/g

/** Breaks long lines between words. Indented lines are SQL. */
export function wrap(text: string, width: number): string[] {
  return text.split('\n').flatMap((line) => {
    const [indent = ''] = /^ */.exec(line) ?? []
    const words = indent === '' ? line.split(' ') : (line.match(SQL_WORD) ?? [])
    if (displayWidth(line) <= width || indent + words.join(' ') !== line) return [line]
    const lines: string[] = []
    for (const word of words) {
      const last = lines.pop()
      const longer = last === undefined ? indent + word : `${last} ${word}`
      if (last === undefined || displayWidth(longer) <= width) lines.push(longer)
      else lines.push(last, indent + indent + word)
    }
    return lines
  })
}

/**
 * Formats each row as one line.
 *
 * @param elastic the columns to cut, in this order, if lines are too long, with their minimum widths
 */
export function columns(
  rows: readonly (readonly Cell[])[],
  elastic: readonly (readonly [index: number, atLeast: number])[],
  width: number,
): string {
  const widths: number[] = []
  for (const row of rows)
    for (const [index, cell] of row.entries())
      widths[index] = Math.max(widths[index] ?? 0, displayWidth(textOf(cell)))
  let excess = widths.reduce((sum, each) => sum + GAP.length + each, -GAP.length) - width
  for (const [index, atLeast] of elastic) {
    const natural = widths[index] ?? 0
    const cutBy = Math.max(0, Math.min(excess, natural - atLeast))
    widths[index] = natural - cutBy
    excess -= cutBy
  }
  return rows
    .map((row) =>
      row
        .map((cell, index) => padded(cell, widths[index] ?? 0))
        .join(GAP)
        .trimEnd(),
    )
    .join('\n')
}

/** Puts each text beside its label. Long text is wrapped below its first line. */
export function labelled(rows: readonly (readonly [label: Cell, text: Cell])[]): string {
  const width = terminalWidth()
  const longest = Math.max(...rows.map(([label]) => displayWidth(textOf(label))))
  const labelWidth = Math.min(longest, Math.floor(width / 2))
  return rows
    .flatMap(([label, text]) =>
      wrap(textOf(text), width - labelWidth - GAP.length).map(
        (line, index) => padded(index === 0 ? label : '', labelWidth) + GAP + styled(text, line),
      ),
    )
    .join('\n')
}

const GAP = '  '

function textOf(cell: Cell): string {
  return typeof cell === 'string' ? cell : cell[0]
}

/** @param text the part of the cell's text to show */
function styled(cell: Cell, text: string): string {
  return typeof cell === 'string' || text === '' ? text : styleText(cell[1], text)
}

function padded(cell: Cell, width: number): string {
  const text = cut(textOf(cell), width)
  return styled(cell, text) + ' '.repeat(Math.max(0, width - displayWidth(text)))
}

/** Returns the word that differs from this one in the fewest letters, unless each differs in more than a third of them. */
export function nearest(word: string, words: readonly string[]): string | undefined {
  const distances = words.map((other) => [distance(word.toLowerCase(), other.toLowerCase()), other] as const)
  const [first] = distances.sort(([one], [other]) => one - other)
  return first && first[0] <= Math.max(1, word.length / 3) ? first[1] : undefined
}

/** The number of letters to insert, to remove or to replace. */
function distance(one: string, other: string): number {
  let row = Array.from({ length: other.length + 1 }, (_, index) => index)
  for (let line = 0; line < one.length; line++) {
    const next = [line + 1]
    for (let column = 1; column <= other.length; column++)
      next[column] = Math.min(
        (row[column] ?? 0) + 1,
        (next[column - 1] ?? 0) + 1,
        (row[column - 1] ?? 0) + Number(one[line] !== other[column - 1]),
      )
    row = next
  }
  return row[other.length] ?? 0
}

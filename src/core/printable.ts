/**
 * Makes a string safe to show. Other programs write into the table as well, and what they wrote must not control a terminal, begin a
 * new line, reverse the text beside it, or be invisible. The escapes are those of JSON, so that a JSON parser restores the same value.
 */
export function printable(text: string): string {
  return text.replace(/[\p{Cc}\p{Cf}\p{Cs}\p{Zl}\p{Zp}]/gu, (character) =>
    character.replace(/[^]/g, (unit) => `\\u${unit.charCodeAt(0).toString(16).padStart(4, '0')}`),
  )
}

import { printable } from '../sql'

/** HTML that was made by `markup`: it is put into other HTML as it is. All else is text. */
export class Markup {
  constructor(readonly html: string) {}
}

export type Part = Markup | string | number | false | undefined | readonly Part[]

/** What is inserted at `${…}` comes out as text, between tags and in the quotes of an attribute. */
export function markup(strings: TemplateStringsArray, ...parts: readonly Part[]): Markup {
  return new Markup(String.raw({ raw: strings }, ...parts.map(escape)))
}

function escape(part: Part): string {
  if (part instanceof Markup) return part.html
  if (part === undefined || part === false) return ''
  if (typeof part === 'object') return part.map(escape).join('')
  // What turns the order of the text beside it, or cannot be seen, is shown as its code.
  return printable(String(part)).replace(/[&<>"']/g, (found) => `&#${found.charCodeAt(0)};`)
}

import type { Sql } from '../../../src/sql/internal'

const TOKEN = /\s*(:\w+|"[^"]*"|'[^']*'|\d+(?:\.\d+)?|<=|>=|[<>=(),.*-]|\w+|$)/y

/** The tokens of one statement, read from left to right. A parameter is its name after a colon. */
export class Tokens {
  /** The number of aggregates that were parsed so far. */
  aggregates = 0
  readonly #words: string[] = []
  #position = 0

  constructor({ pieces, parameters }: Sql) {
    const text = pieces
      .map((piece, hole) => piece + (hole in parameters ? ` :${parameters[hole]} ` : ''))
      .join('')
    TOKEN.lastIndex = 0
    while (TOKEN.lastIndex < text.length) {
      const [, word] = TOKEN.exec(text) ?? []
      if (word === undefined) throw new Error(`The model cannot parse: ${text}`)
      if (word !== '') this.#words.push(word)
    }
  }

  peek(): string {
    return this.#words[this.#position] ?? ''
  }

  next(): string {
    return this.#words[this.#position++] ?? ''
  }

  /** Returns whether these words come next, and if so, consumes them. */
  read(...words: string[]): boolean {
    const follow = words.every((word, index) => this.#words[this.#position + index]?.toLowerCase() === word)
    if (follow) this.#position += words.length
    return follow
  }

  expect(...words: string[]): void {
    if (!this.read(...words)) throw this.error(words.join(' '))
  }

  /** Consumes a name, quoted or not, and drops the alias of its table. */
  identifier(): string {
    const first = this.#name()
    return this.read('.') ? this.#name() : first
  }

  #name(): string {
    if (!/^("[^"]+"|[a-z_]\w*)$/i.test(this.peek())) throw this.error('a name')
    return this.next().replaceAll('"', '')
  }

  /** Fails unless the whole statement was consumed: otherwise the model would execute only its beginning. */
  end(): void {
    if (this.#position < this.#words.length) throw this.error('the end')
  }

  error(expected: string): Error {
    return new Error(`The model expected ${expected} at '${this.peek()}' in: ${this.#words.join(' ')}`)
  }
}

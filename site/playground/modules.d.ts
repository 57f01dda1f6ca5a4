/// <reference types="vite/client" />

declare module '*.vue' {
  import type { Component } from 'vue'
  const component: Component
  export default component
}

/** What database.ts uses of this module, which has no types of its own. */
declare module 'sql.js' {
  type Value = string | number | null
  interface Statement {
    bind(values: readonly Value[]): boolean
    step(): boolean
    getAsObject(): Record<string, Value>
    free(): void
  }
  class Database {
    prepare(text: string): Statement
    getRowsModified(): number
  }
  export default function initSqlJs(options: {
    wasmBinary: ArrayBuffer
  }): Promise<{ Database: typeof Database }>
}

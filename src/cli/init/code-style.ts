import { join } from 'node:path'
import type { Project } from '../project'

interface Prettier {
  resolveConfig(file: string, options?: { editorconfig: boolean }): Promise<object | null>
  format(text: string, options: object): string | Promise<string>
}

/**
 * Rewrites source text, which has single quotes, no semicolons and two spaces, in the style of the project: that of its Prettier, if
 * that is installed and configured, or else that of another file.
 *
 * @param file where the text will be, relative to the project's folder
 * @param sample the text of the other file
 */
export async function inStyle(project: Project, file: string, text: string, sample: string): Promise<string> {
  const similar = like(sample, text)
  const found = project.find(['prettier'])
  if (!found) return similar
  try {
    const prettier = found.load() as Prettier
    const filepath = join(project.root, file)
    if (!(await prettier.resolveConfig(filepath))) return similar
    const config = await prettier.resolveConfig(filepath, { editorconfig: true })
    return await prettier.format(text, { ...config, filepath })
  } catch {
    // Such as a plugin that is not installed. The style matters less than the file.
    return similar
  }
}

/** The text as CommonJS: each `import` of names is a `require`. */
export function withRequire(text: string): string {
  return text.replace(/^import (\{[^}]*\}) from ('[^']*')$/gm, 'const $1 = require($2)')
}

/** Only for text like that of a migration: statements of one line. */
function like(sample: string, text: string): string {
  const hasSemicolons = /^\s*(?:import|export|const|return|await|name)\b.*;\s*$/m.test(sample)
  const hasDoubleQuotes = /(?:from|require\()\s*"/.test(sample)
  const [, indentation = '  '] = /^([ \t]+)\S/m.exec(sample) ?? []
  const statements = hasSemicolons
    ? text.replace(/(['"`)\w])$/gm, '$1;').replace(/^([^\n;]*\/\/[^\n]*);$/gm, '$1')
    : text
  return (hasDoubleQuotes ? statements.replaceAll("'", '"') : statements).replace(/^ {2}/gm, indentation)
}

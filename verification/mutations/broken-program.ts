import { join, relative } from 'node:path'
import { program } from '../../test/processes/program'
import { root } from '../../test/project'
import { BrokenCopy, type Break } from './broken-copy'

/** A program as one file, as `program` bundles it, made of sources that are broken first. */
export function brokenProgram(source: string, breaks: readonly Break[]): string {
  if (breaks.length === 0) return program(source)
  const copy = new BrokenCopy()
  const bundle = (): string => program(join(copy.path, relative(root, source)), '-broken')
  try {
    return breaks.reduce((work, each) => () => copy.whileBroken(each, work), bundle)()
  } finally {
    copy.remove()
  }
}

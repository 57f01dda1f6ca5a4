import { existsSync } from 'node:fs'
import { dirname, join } from 'node:path'
import { expect, it } from '@jest/globals'
import { read, root } from '../project'
import { documents } from './documents'

const all = documents()

/** As GitHub and npm make them: no punctuation, blanks are dashes. */
function anchors(file: string): string[] {
  return [...text(file).matchAll(/^#+ (.*)$/gm)].map(([, heading = '']) =>
    heading
      .toLowerCase()
      .replace(/[^\p{L}\p{N}\s_-]/gu, '')
      .replaceAll(' ', '-'),
  )
}

function text(file: string): string {
  return read(file).replace(/^```.*?^```$/gms, '')
}

it.each(all)('the links of %s lead somewhere', (document) => {
  const links = [...text(document).matchAll(/\]\(([^)\s]+)\)/g)].map(([, link = '']) => link)
  const broken = links.filter((link) => {
    if (/^[a-z]+:/.test(link)) return false
    const [path = '', anchor] = link.split('#')
    const file = path === '' ? document : join(dirname(document), path)
    return !existsSync(join(root, file)) || (anchor !== undefined && !anchors(file).includes(anchor))
  })
  expect(broken).toEqual([])
})

/** Folders and files that a text names as code, and those of src that the page about the architecture draws. */
it.each([...all, 'test/documentation/features.md'])('the paths that %s names are there', (document) => {
  const whole = read(document)
  const named = text(document).matchAll(/`((?:src|test|docs|scripts|site|bench|examples)\/[\w./-]+)`/g)
  const drawn = whole.matchAll(/^ .* {2}((?:core|sql|typeorm|prisma)\/[\w-]+\.ts)/gm)
  const paths = [...[...named].map(([, path]) => path), ...[...drawn].map(([, path]) => `src/${path}`)]
  const exists = (path = ''): boolean =>
    ['', '.ts', '.test.ts'].some((ending) => existsSync(join(root, path + ending)))
  expect(paths.filter((path) => !exists(path))).toEqual([])
})

it('docs/README.md, which is the sidebar of the site, has every page', () => {
  const contents = read('docs/README.md')
  const pages = all.filter((document) => /^docs\/(?!README)/.test(document))
  expect(pages.length).toBeGreaterThan(15)
  expect(pages.filter((page) => !contents.includes(`](${page.slice('docs/'.length)})`))).toEqual([])
})

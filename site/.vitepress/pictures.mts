import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { MarkdownRenderer } from 'vitepress'

const DARK = /(?: and )?\(prefers-color-scheme: ?dark\)/

/**
 * GitHub chooses a picture by the reader's colour scheme; on the site, its own switch decides. The pictures of both schemes are in the
 * page, the style shows those of one, and the browser loads only these.
 */
export function picturesOfBothSchemes(md: MarkdownRenderer): void {
  md.core.ruler.push('pictures-of-both-schemes', ({ tokens }) => {
    for (const token of tokens) {
      if (token.type !== 'html_block') continue
      token.content = token.content.replace(/<picture>.*?<\/picture>/gs, (picture) =>
        DARK.test(picture) ? `<p>${ofScheme(picture, 'light')}${ofScheme(picture, 'dark')}</p>` : picture,
      )
    }
  })
}

/** Returns the picture with the sources of one scheme, of which a window's width may still choose one. */
function ofScheme(picture: string, scheme: 'light' | 'dark'): string {
  const all = [...picture.matchAll(/<source media="([^"]*)" (srcset="([^"]*)"[^>]*?) ?\/?>/g)]
  const own = all.filter(([, media = '']) => DARK.test(media) === (scheme === 'dark'))
  const always = own.find(([, media = '']) => media.replace(DARK, '') === '')?.[3]
  const ofWidths = own.flatMap(([, media = '', rest]) => {
    const width = media.replace(DARK, '')
    return width === '' ? [] : [`<source media="${width}" ${rest}>`]
  })
  const [, img = ''] = /<img ([^>]+?)\/?>/.exec(picture) ?? []
  const shown = always === undefined ? img : img.replace(/src="[^"]*"/, `src="${always}"`)
  return `<picture class="only-${scheme}">${ofWidths.join('')}<img loading="lazy" ${shown}></picture>`
}

const SVG = /\b(src|srcset)="([^"]+\.svg)"(?![^>]*\bwidth=)/g

/** Gives each SVG of the text its size, so that nothing below it moves when it has been loaded, and links to headings land on them. */
export function sizesOfPictures(md: MarkdownRenderer): void {
  md.core.ruler.push('sizes-of-pictures', ({ tokens, env }) => {
    const folder = dirname((env as { path: string }).path)
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      const src = token.attrGet('src')
      if (token.type !== 'image' || !src?.endsWith('.svg')) continue
      for (const [name, pixels] of Object.entries(sizeOf(join(folder, decodeURI(src)))))
        token.attrSet(name, pixels)
    }
    for (const token of tokens)
      if (token.type === 'html_block')
        token.content = token.content.replace(SVG, (shown: string, _name: string, file: string) => {
          const { width, height } = sizeOf(join(folder, file))
          return `${shown} width="${width}" height="${height}"`
        })
  })
}

function sizeOf(file: string): { width: string; height: string } {
  const [, width = '', height = ''] =
    /<svg[^>]*? width="(\d+)" height="(\d+)"/.exec(readFileSync(file, 'utf8')) ?? []
  return { width, height }
}

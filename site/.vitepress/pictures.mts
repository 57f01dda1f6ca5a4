import { readFileSync } from 'node:fs'
import { dirname, join } from 'node:path'
import type { MarkdownRenderer } from 'vitepress'

const SOURCE = /<source media="\(prefers-color-scheme: ?dark\)" srcset="([^"]+)" ?\/?>/
const PICTURE = new RegExp(
  `<picture>\\s*(?:<source media="\\(max-width[^>]*>\\s*)?${SOURCE.source}\\s*<img ([^>]+?)/?>\\s*</picture>`,
  'g',
)

/**
 * GitHub chooses a picture by the reader's colour scheme; on the site, its own switch decides. Both pictures are in the page, the style
 * shows one, and the browser loads only that one.
 */
export function picturesOfBothSchemes(md: MarkdownRenderer): void {
  md.core.ruler.push('pictures-of-both-schemes', ({ tokens }) => {
    for (const token of tokens) {
      if (token.type !== 'html_block') continue
      token.content = token.content.replace(
        PICTURE,
        (_, dark: string, img: string) =>
          `<p><img class="only-light" loading="lazy" ${img}><img class="only-dark" loading="lazy" ${img.replace(/src="[^"]*"/, `src="${dark}"`)}></p>`,
      )
    }
  })
}

/** Gives each SVG of the text its size, so that nothing below it moves when it has been loaded, and links to headings land on them. */
export function sizesOfPictures(md: MarkdownRenderer): void {
  md.core.ruler.push('sizes-of-pictures', ({ tokens, env }) => {
    for (const token of tokens.flatMap(({ children }) => children ?? [])) {
      const src = token.attrGet('src')
      if (token.type !== 'image' || !src?.endsWith('.svg')) continue
      const svg = readFileSync(join(dirname((env as { path: string }).path), decodeURI(src)), 'utf8')
      const [, width, height] = /<svg[^>]*? width="(\d+)" height="(\d+)"/.exec(svg) ?? []
      if (width) token.attrSet('width', width)
      if (height) token.attrSet('height', height)
    }
  })
}

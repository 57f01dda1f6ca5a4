import type { MarkdownRenderer } from 'vitepress'

const SOURCE = /<source media="\(prefers-color-scheme: ?dark\)" srcset="([^"]+)" ?\/?>/
const PICTURE = new RegExp(`<picture>\\s*${SOURCE.source}\\s*<img ([^>]+?)/?>\\s*</picture>`, 'g')

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

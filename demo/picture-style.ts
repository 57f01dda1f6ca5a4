/**
 * Light and dark colours, each with a background: the pages of GitHub and npm do not always have the colour scheme of the reader's
 * system.
 */
export const STYLE = `
    text { font: 13px system-ui, -apple-system, 'Segoe UI', sans-serif; fill: #3d444d }
    .title { font-size: 16px; font-weight: 600; fill: #1f2328 }
    .column { font-size: 13px; font-weight: 600; fill: #1f2328 }
    .quiet { font-size: 12px; font-weight: 400; fill: #656d76 }
    .large { font-size: 16px }
    .large.title { font-size: 19px }
    .end { text-anchor: end }
    .middle { text-anchor: middle }
    .page { fill: #ffffff; stroke: #d1d9e0 }
    .skip { fill: #bcc4cd }
    .many { fill: #e5853d }
    .run { fill: #2da160 }
    .killed { fill: #d6454b }
    .cross { stroke: #ffffff; stroke-width: 2; stroke-linecap: round }
    .held { fill: #d6454b; opacity: 0.1 }
    .title.many { fill: #b35312 }
    .title.run { fill: #1a7f45 }
    @media (prefers-color-scheme: dark) {
      text { fill: #b7bfc8 }
      .title, .column { fill: #f0f3f6 }
      .quiet { fill: #8d96a0 }
      .page { fill: #161618; stroke: #3d444d }
      .skip { fill: #59636e }
      .many { fill: #d9772f }
      .run { fill: #2f9e5f }
      .killed { fill: #d9484e }
      .held { opacity: 0.16 }
      .title.many { fill: #f0a063 }
      .title.run { fill: #56cf8a }
    }
  `

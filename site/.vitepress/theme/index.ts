/// <reference types="vitepress/client" />
import { defineAsyncComponent, h } from 'vue'
import { withBase, type Theme } from 'vitepress'
// Omits the fonts, which are 100 kB: system-ui needs none.
import DefaultTheme from 'vitepress/theme-without-fonts'
import SetUps from './SetUps.vue'
import './style.css'

const Playground = defineAsyncComponent(() => import('../../playground/Playground.vue'))

const notFound = () =>
  h('main', { class: 'vp-doc not-found' }, [
    h('h1', 'There is no such page'),
    h('p', [
      'It may have been renamed. Search for it above, or look through ',
      h('a', { href: withBase('/docs/') }, 'all pages'),
      '.',
    ]),
  ])

export default {
  extends: DefaultTheme,
  Layout: () => h(DefaultTheme.Layout, null, { 'not-found': notFound }),
  enhanceApp: ({ app }) => {
    app.component('Playground', Playground)
    app.component('SetUps', SetUps)
  },
} satisfies Theme

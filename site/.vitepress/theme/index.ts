/// <reference types="vitepress/client" />
import { defineAsyncComponent, h } from 'vue'
import { useData, type Theme } from 'vitepress'
// Omits the fonts, which are 100 kB: system-ui needs none.
import DefaultTheme from 'vitepress/theme-without-fonts'
import './style.css'

const Playground = defineAsyncComponent(() => import('../../playground/Playground.vue'))

export default {
  extends: DefaultTheme,
  Layout: () => {
    const isFirstPage = useData().page.value.relativePath === 'index.md'
    return h(DefaultTheme.Layout, null, { 'doc-before': () => isFirstPage && h(Playground) })
  },
} satisfies Theme

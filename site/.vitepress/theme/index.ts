/// <reference types="vitepress/client" />
// Without the fonts, which are 100 kB that system-ui does without.
import DefaultTheme from 'vitepress/theme-without-fonts'
import type { Theme } from 'vitepress'
import './style.css'

export default { extends: DefaultTheme } satisfies Theme

import { styleText } from 'node:util'

export type Style = Parameters<typeof styleText>[0]

// NO_COLOR and FORCE_COLOR are heeded by hasColors().
const colours = process.stdout.isTTY && process.stdout.hasColors()

export function paint(style: Style, text: string): string {
  return colours ? styleText(style, text) : text
}

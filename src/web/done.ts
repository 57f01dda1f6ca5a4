import { cookieOf } from './form'

const COOKIE = 'shedlock-done'
/** In seconds: long enough for the browser to follow the redirect. */
const SHOWN_WITHIN = 30

const SENTENCES = {
  pause: (name: string) => `The job ${name} is paused.`,
  resume: (name: string) => `The job ${name} is resumed.`,
  release: (name: string) => `The lock ${name} is released.`,
}

/** A cookie rather than a part of the URL, so that the message is shown once, and no link from elsewhere can forge it. */
export function doneCookie(action: keyof typeof SENTENCES, name: string): { 'set-cookie': string } {
  const value = `${action}.${Buffer.from(name).toString('base64url')}`
  return { 'set-cookie': `${COOKIE}=${value}; Max-Age=${SHOWN_WITHIN}; HttpOnly; SameSite=Strict` }
}

/** Removes the cookie. */
export const NOTHING_DONE = { 'set-cookie': `${COOKIE}=; Max-Age=0; HttpOnly; SameSite=Strict` }

/** @returns a sentence on what this visitor has just done */
export function doneBy(request: Request): string | undefined {
  const [action = '', name = ''] =
    cookieOf(request, COOKIE, '(?:pause|resume|release)\\.[\\w-]+')?.split('.') ?? []
  return Object.hasOwn(SENTENCES, action)
    ? SENTENCES[action as keyof typeof SENTENCES](Buffer.from(name, 'base64url').toString())
    : undefined
}

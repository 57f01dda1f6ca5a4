/**
 * The only script. It shows what is new without a reload, so that the focus and the place on the page stay, and says so if the app
 * does not answer. Without scripts the page reloads itself. Its hash is in the policy of the response, so no other script can run.
 */
export const SCRIPT = `
document.addEventListener('DOMContentLoaded', () => {
  const all = () => [...document.querySelectorAll('[data-key]')]
  let { title } = document
  setInterval(async () => {
    try {
      const signal = AbortSignal.timeout(10_000)
      const answer = await fetch(location.href, { headers: { accept: 'text/html' }, signal })
      const fresh = new DOMParser().parseFromString(await answer.text(), 'text/html')
      // It is another page, such as the one to sign in.
      if (!fresh.body.dataset.refresh) return location.reload()
      const { key } = document.activeElement.dataset
      document.querySelector('main').replaceWith(fresh.querySelector('main'))
      document.title = title = fresh.title
      if (key) all().find((element) => element.dataset.key === key)?.focus({ preventScroll: true })
    } catch {
      document.title = 'No answer: ' + title
      document.querySelector('[data-lost]').hidden = false
    }
  }, 1_000 * document.body.dataset.refresh)
})
`

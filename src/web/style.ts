/**
 * The style of every page. On narrow screens and paper each row of a table becomes a card, with the column names beside its cells: in
 * two columns, and on a phone in one. On paper only the list is left. Forced colours show transparent borders.
 */
export const STYLE = `
:root { color-scheme: light dark;
  --ink: light-dark(#1c2430, #e4e8ef); --dim: light-dark(#566072, #a3adbd); --page: light-dark(#f5f6f8, #12161c);
  --card: light-dark(#fff, #1b2129); --line: light-dark(#d9dde4, #323b47); --link: light-dark(#0b57d0, #8ab4f8);
  --red: light-dark(#b3261e, #ffb4ab); --red-bg: light-dark(#fce8e6, #561b18); --blue: light-dark(#0b4f9e, #a8c7fa);
  --blue-bg: light-dark(#e3eefc, #14365f); --gold: light-dark(#7a4b00, #f7d08a); --gold-bg: light-dark(#fdf0d5, #4a3408) }
* { box-sizing: border-box }
body { margin: 0; background: var(--page); color: var(--ink); font: 15px/1.45 system-ui, sans-serif }
main { max-width: 1760px; margin: 0 auto; padding: 20px 16px 40px }
h1 { font-size: 22px; margin: 0 0 4px; overflow-wrap: anywhere }
h1::first-letter, button::first-letter, td a::first-letter { text-transform: uppercase }
p { margin: 8px 0 }
.title { background: var(--ink); color: var(--page); font-weight: 700; border: 1px solid transparent; padding: 5px 15px; overflow-wrap: anywhere }
.title.live, button.danger { background: #b3261e; border-color: #b3261e; color: #fff }
.place { font-weight: 600; margin: 0; overflow-wrap: anywhere }
a { color: var(--link) }
:focus-visible { outline: 3px solid var(--link); outline-offset: 2px }
small, .dim, dt, label, th, footer { color: var(--dim) }
small { display: block; font-size: 13px }
form { display: flex; flex-direction: column; gap: 8px; align-items: start; max-width: 40em; margin: 12px 0 }
label { display: grid; gap: 4px }
label, input { width: 100% }
input, button, td a { font: inherit; color: var(--ink); background: var(--card); border: 1px solid var(--line); border-radius: 6px; padding: 5px 12px }
input { border-color: var(--dim); min-width: 0 }
button { background: var(--link); border-color: var(--link); color: var(--card); font-weight: 600; cursor: pointer }
td a { text-decoration: none; display: inline-block; padding: 1px 10px; color: var(--link) }
td a.danger { color: var(--red); border-color: var(--red) }
.alert { background: var(--red-bg); color: var(--red); border: 1px solid; border-radius: 8px; padding: 10px 14px; margin: 12px 0 }
.box, dl, table { background: var(--card); border: 1px solid var(--line); border-radius: 8px }
.box, dl { padding: 16px; margin: 12px 0 }
dl { display: grid; grid-template-columns: max-content 1fr; gap: 6px 16px; max-width: 40em }
dd { margin: 0; overflow-wrap: anywhere }
table { width: 100%; border-spacing: 0 }
th { text-align: left; font-size: 13px; font-weight: 600; position: sticky; top: 0; background: var(--card); border-bottom: 1px solid var(--line) }
th:first-child { border-top-left-radius: 8px }
th:last-child { border-top-right-radius: 8px }
th, td { padding: 8px; vertical-align: top; white-space: nowrap }
tr + tr td { border-top: 1px solid var(--line) }
[data-label=Job], [data-label=Owner] { overflow-wrap: anywhere; min-width: 9.5em }
[data-label=Job] { font-weight: 600 }
[data-label=Job] div { max-width: 24em }
[data-label=Owner] div { max-width: 20em }
h1, dd, [data-label=Job], [data-label=Owner] { white-space: pre-wrap; unicode-bidi: plaintext; text-align: left }
td small { white-space: normal; text-wrap: balance; overflow-wrap: anywhere; min-width: 8em }
small.next { color: var(--ink); min-width: 10em; text-wrap: wrap }
tr:target { outline: 2px solid var(--link); outline-offset: -2px }
time, td span { white-space: nowrap }
.error { color: var(--red) }
.state { display: inline-block; border: 1px solid transparent; border-radius: 99px; padding: 0 9px; font-weight: 600; font-size: 13px }
.stuck, .missed, .late, .died, .failed { background: var(--red-bg); color: var(--red) }
.running { background: var(--blue-bg); color: var(--blue) }
.paused { background: var(--gold-bg); color: var(--gold) }
.idle { background: var(--page); color: var(--dim) }
footer { font-size: 13px; margin-top: 16px; overflow-wrap: anywhere }
@media (max-width: 1180px) {
  table { display: block; border: 0; background: none }
  tbody { display: grid; grid-template-columns: repeat(auto-fill, minmax(min(22em, 100%), 1fr)); gap: 10px }
  thead { position: absolute; width: 1px; height: 1px; overflow: hidden; clip-path: inset(50%) }
  tr { display: flex; flex-direction: column; background: var(--card); border: 1px solid var(--line); border-radius: 8px; padding: 8px 14px; min-width: 0 }
  td div { max-width: none !important }
  td { display: grid; grid-template-columns: 5em 1fr; border: 0; padding: 2px 0; white-space: normal; overflow-wrap: anywhere }
  td::before { content: attr(data-label); color: var(--dim); font-size: 13px; padding-top: 2px }
  [data-label=Job] { display: block; font-size: 17px }
  [data-label=Action] { display: block; margin-top: auto; padding-top: 6px }
  [data-label=Job]::before, [data-label=Action]::before, td:empty { content: none; display: none }
  td small { display: inline }
  small.next { display: block }
  input, button, td a { min-height: 44px; padding: 10px 14px; justify-self: start }
  tr + tr td { border: 0 }
}
@media print {
  :root { color-scheme: light }
  form, .dim a, .refresh, [data-label=Action] { display: none !important }
  body { background: none }
  .title, .title.live { background: none; color: inherit; border: 0; border-bottom: 2px solid }
  tr { break-inside: avoid }
}
`

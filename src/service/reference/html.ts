import { createHash } from 'node:crypto'

/** Text that is already HTML. */
export class Html {
  readonly text: string

  constructor(text: string) {
    this.text = text
  }
}

type Part = Html | string | number | readonly Html[]

/** Builds HTML; every value that is not `Html` is escaped. */
export const html = (texts: TemplateStringsArray, ...values: readonly Part[]): Html =>
  new Html(texts.reduce((whole, text, index) => `${whole}${printed(values[index - 1] ?? '')}${text}`))

function printed(part: Part): string {
  if (part instanceof Html) return part.text
  if (typeof part === 'object') return part.map(each => each.text).join('')
  return escaped(String(part))
}

const escapes: Readonly<Record<string, string>> = {
  '&': '&amp;',
  '<': '&lt;',
  '>': '&gt;',
  '"': '&quot;',
  "'": '&#39;',
}

const escaped = (text: string): string => text.replaceAll(/[&<>"']/g, character => escapes[character] ?? character)

const style = `:root{color-scheme:light dark;--line:light-dark(#d5d8de,#3a3f47);--soft:light-dark(#f4f5f7,#1f2329);--link:light-dark(#0550ae,#79b8ff)}
*{box-sizing:border-box}
body{font:16px/1.55 system-ui,sans-serif;max-width:60rem;margin:0 auto;padding:1.5rem 1rem 4rem;color:light-dark(#1b1f24,#e6e8eb);background:light-dark(#fff,#14171b)}
a{color:var(--link)}h1{font-size:1.6rem;line-height:1.25;overflow-wrap:anywhere}h2{font-size:1.15rem;margin-top:2rem}
code,pre{font:.875rem/1.5 ui-monospace,monospace}code{overflow-wrap:anywhere}
pre{background:var(--soft);border:1px solid var(--line);border-radius:.4rem;padding:.75rem 1rem;overflow-x:auto}
pre.text{white-space:pre-wrap;overflow-wrap:anywhere}
.scroll{overflow-x:auto}table{border-collapse:collapse;width:100%}
th,td{text-align:left;vertical-align:top;padding:.35rem .75rem .35rem 0;border-bottom:1px solid var(--line)}
.method{display:inline-block;min-width:4.5rem;font-weight:600}.note{color:light-dark(#57606a,#9aa4af)}`

/** The pages load nothing and run nothing. */
export const contentSecurityPolicy = [
  "default-src 'none'",
  `style-src 'sha256-${createHash('sha256').update(style).digest('base64')}'`,
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ')

/** A complete document. */
export const page = (title: string, body: Html): string =>
  html`<!doctype html>
<html lang="en">
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>${title}</title>
<style>${new Html(style)}</style>
<body>
${body}
</body>
</html>
`.text

const failureTitles: Readonly<Record<number, string>> = {
  404: 'Page not found',
  405: 'Method not allowed',
  429: 'Too many requests',
}

/** An error for a user who opened an address in a browser; `sentence` says what is wrong and what to do. */
export function failurePage(status: number, sentence: string): string {
  const title = failureTitles[status] ?? 'This page failed'
  return page(
    title,
    html`<h1>${title}</h1>
<p>${sentence}</p>
<p><a href="/docs">All operations</a></p>`,
  )
}

const scrolled = (inside: Html): Html => html`<div class="scroll" tabindex="0"><table>${inside}</table></div>`

export const table = (heads: readonly string[], rows: readonly (readonly Html[])[]): Html =>
  scrolled(html`
<thead><tr>${heads.map(head => html`<th scope="col">${head}</th>`)}</tr></thead>
<tbody>${rows.map(cells => html`<tr>${cells.map(cell => html`<td>${cell}</td>`)}</tr>`)}</tbody>
`)

/** A table of two columns; the first contains the row headings. */
export const factTable = (rows: readonly (readonly [name: string, fact: Html])[]): Html =>
  scrolled(
    html`<tbody>${rows.map(([name, fact]) => html`<tr><th scope="row">${name}</th><td>${fact}</td></tr>`)}</tbody>`,
  )

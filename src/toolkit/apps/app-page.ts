import { createHash } from 'node:crypto'
import { hourMs } from '#contract/time.ts'
import { version } from '#contract/version.generated.ts'
import { type AppName, defineResource, type Resource } from '../define.ts'

/** The media type of an app of the MCP Apps extension (SEP-1865). */
const appMimeType = 'text/html;profile=mcp-app'

export const appUri = (name: AppName): string => `ui://farebox/${name}`

interface App {
  title: string
  description: string
  /** Defines `view(data, result)`: draws the structure of a tool's result in `main`. */
  script: string
}

/** An app as a resource: one page without any address in it, the same for every user. */
export function defineApp(name: AppName, { script, ...app }: App): Resource {
  const contents = () => ({ text: pageOf(app.title, `${bridge}\n${script}\nbegin()`) })
  return defineResource({
    ...{ ...app, name: `app_${name}`, uri: appUri(name), mimeType: appMimeType },
    ...{ needs: [], keepMs: hourMs, meta: { ui: { prefersBorder: true } } },
    constant: contents,
    read: async () => contents(),
  })
}

const hashOf = (text: string): string => `'sha256-${createHash('sha256').update(text).digest('base64')}'`

/** Only this script and style run, and nothing is fetched: media arrive as data. */
const pageOf = (title: string, script: string): string => `<!doctype html>
<html lang="en"><head><meta charset="utf-8"><meta name="viewport" content="width=device-width">
<meta http-equiv="Content-Security-Policy" content="default-src 'none'; script-src ${hashOf(script)}; style-src ${hashOf(style)}; img-src data:; media-src data:; base-uri 'none'; form-action 'none'">
<title>farebox: ${title}</title><style>${style}</style></head>
<body><main aria-live="polite"><p>Waiting for the result.</p></main><script>${script}</script></body></html>
`

/** Uses the host's colours if it provides them, otherwise those of `pages/kit/style.css`. */
const style = `:root{color-scheme:light dark;font:15px/1.5 var(--font-sans,system-ui,sans-serif);color:var(--color-text-primary,light-dark(#1c1f1c,#e8eae6));
--line:var(--color-border-primary,light-dark(#d9dad4,#363b36));--quiet:var(--color-text-secondary,light-dark(#5a605a,#a3aaa2));--main:light-dark(#0a6c5c,#5fd0b8);accent-color:var(--main)}
body{margin:0;padding:.75rem 1rem}h1{font-size:1.05rem;margin:.25rem 0 .5rem}section section h1,main>section+section h1{font-size:1rem;margin-top:1rem}p{margin:.35rem 0}
pre{white-space:pre-wrap;overflow-wrap:anywhere;font:inherit;border-left:4px solid var(--main);padding:.25rem .75rem;margin:.5rem 0}
code{font:.9em ui-monospace,monospace;overflow-wrap:anywhere}figure{margin:.5rem 0}img,video{max-width:100%;max-height:24rem;display:block;border-radius:.35rem}audio{width:100%}
figcaption,.small{font-size:.85rem;color:var(--quiet);overflow-wrap:anywhere}
dl{display:grid;grid-template-columns:fit-content(45%) 1fr;gap:.15rem 1rem;margin:.5rem 0}dt{color:var(--quiet)}dd{margin:0;overflow-wrap:anywhere}
progress{width:100%}ul{margin:.25rem 0;padding:0;list-style:none;overflow-wrap:anywhere}li{padding:.35rem 0;border-bottom:1px solid var(--line)}
button{font:inherit;color:inherit;background:none;border:1px solid var(--quiet);border-radius:.35rem;padding:.25rem .9rem;cursor:pointer}:focus-visible{outline:2px solid var(--main);outline-offset:2px}`

/**
 * What every app shares: JSON-RPC with the host that embeds it, and what any tool may answer. All text is set as text. An
 * approval is shown and never given here, because a host does not tell a server whether the user or a model called a tool.
 */
const bridge = `'use strict'
const main = document.querySelector('main')
const pending = new Map()
let lastId = 0
let turns = 0
let can = {}
const post = message => parent.postMessage({ jsonrpc: '2.0', ...message }, '*')
const request = (method, params) =>
  new Promise((resolve, reject) => {
    lastId += 1
    pending.set(lastId, { resolve, reject })
    post({ id: lastId, method, params })
  })
const callTool = (name, given) => request('tools/call', { name, arguments: given })

const heard = {
  'ui/notifications/tool-result': result => show(result),
  'ui/notifications/tool-cancelled': () => draw(paragraph('The call was cancelled.')),
  'ui/notifications/host-context-changed': context => dress(context),
}
addEventListener('message', ({ source, data }) => {
  if (source !== parent || data === null || typeof data !== 'object' || data.jsonrpc !== '2.0') return
  const { id, method, params, result, error } = data
  if (method === undefined) {
    const waiting = pending.get(id)
    pending.delete(id)
    if (error) waiting?.reject(new Error(String(error.message)))
    else waiting?.resolve(result)
  } else if (id === undefined) {
    if (Object.hasOwn(heard, method)) heard[method](params ?? {})
  } else if (method === 'ping' || method === 'ui/resource-teardown') post({ id, result: {} })
  else post({ id, error: { code: -32601, message: 'Method not found' } })
})

const element = (tag, ...children) => {
  const made = document.createElement(tag)
  made.append(...children.filter(child => child !== null))
  return made
}
/** Shows text between backticks as code. */
const words = text => {
  const parts = String(text).split('\\x60')
  return parts.length % 2 === 0 ? [text] : parts.map((part, index) => (index % 2 === 0 ? part : element('code', part)))
}
const paragraph = (text, className = '') => {
  const made = element('p', ...words(text))
  made.className = className
  return made
}
const utc = at => new Date(at).toISOString().slice(0, 16).replace('T', ' ') + ' UTC'
const rows = pairs =>
  element('dl', ...pairs.filter(([, value]) => value !== null && value !== undefined && value !== '').flatMap(([name, value]) => [element('dt', name), element('dd', String(value))]))
const draw = (...children) => main.replaceChildren(...children.filter(child => child !== null))
const format = new Intl.NumberFormat('en', { minimumFractionDigits: 2, maximumFractionDigits: 6, useGrouping: false })
const usd = amount => (typeof amount === 'number' ? format.format(amount) + ' USD' : 'unknown')
const known = amount => (typeof amount === 'number' ? usd(amount) : null)

/** The short form of a price, which every tool's output has. */
const paidOf = data =>
  data.charged_usd === undefined
    ? null
    : rows([['Charged', usd(data.charged_usd)], ['Credit left', known(data.credit_left_usd)], ['The wallet may still pay today', known(data.budget_left_usd)], ['Note', data.warning]])

/*
 * The command that opens the local page, derived from the command in the answer.
 */
const pageCommand = ({ next_step: next = '' }) =>
  /\\x60([^\\x60]*wallet approve[^\\x60]*)\\x60/.exec(next)?.[1].replace(/wallet approve(?: (?!--)\\S+)?/, 'wallet open')

const approvalOf = data =>
  element(
    'section',
    element('h1', data.status === 'declined' ? 'You denied this' : 'This needs your approval'),
    paragraph('Nothing was sent or charged.'),
    typeof data.at_most_usd === 'number' ? rows([['At most', usd(data.at_most_usd)]]) : null,
    data.question ? element('pre', data.question) : null,
    paragraph(data.next_step ?? ''),
    pageCommand(data) ? paragraph('To decide in a browser instead, run this in a terminal: \\x60' + pageCommand(data) + '\\x60') : null,
    paragraph('This view shows the request and cannot approve it.', 'small'),
    data.expires_at ? paragraph('Open until ' + utc(data.expires_at), 'small') : null,
  )

const failureOf = (data, text) =>
  element('section', element('h1', 'The call failed'), paragraph(data.message ?? text), data.service_said ? element('pre', data.service_said) : null, paragraph(data.next_step ?? ''), paidOf(data))

const textOf = result => (result.content ?? []).flatMap(block => (block.type === 'text' ? [block.text] : [])).join('\\n')

function show(result) {
  turns += 1
  const data = result.structuredContent
  if (data === undefined || data === null) draw(element('pre', textOf(result)))
  else if (data.status === 'needs_approval' || data.status === 'declined') draw(approvalOf(data))
  else if (result.isError) draw(failureOf(data, textOf(result)))
  else view(data, result)
}

function dress({ theme, styles }) {
  const root = document.documentElement.style
  if (theme === 'light' || theme === 'dark') root.colorScheme = theme
  for (const [name, value] of Object.entries(styles?.variables ?? {}))
    if (name.startsWith('--') && typeof value === 'string') root.setProperty(name, value)
}

async function begin() {
  const appInfo = { name: 'farebox', version: '${version}' }
  const started = await request('ui/initialize', { protocolVersion: '2026-01-26', appInfo, appCapabilities: { availableDisplayModes: ['inline'] } })
  can = started.hostCapabilities ?? {}
  dress(started.hostContext ?? {})
  post({ method: 'ui/notifications/initialized', params: {} })
  new ResizeObserver(() => {
    const { width, height } = document.documentElement.getBoundingClientRect()
    post({ method: 'ui/notifications/size-changed', params: { width: Math.ceil(width), height: Math.ceil(height) } })
  }).observe(document.documentElement)
}`

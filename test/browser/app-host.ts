import type { Browser, Page } from 'playwright-core'
import { expect } from 'vitest'
import type { Connection } from '../mcp/connect.ts'

/** As the extension has it for a view that declares no domains. */
const hostPolicy =
  "default-src 'none'; script-src 'self' 'unsafe-inline'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; media-src 'self' data:; connect-src 'none'"

const everything = { serverTools: {}, serverResources: {} }

export interface Given {
  tool: string
  arguments: Record<string, unknown>
  can?: object
  colorScheme?: 'light' | 'dark'
}

/** Calls the tool and shows its result in its view. */
export async function showApp(
  browser: Browser,
  { client }: Pick<Connection, 'client'>,
  given: Given,
  closing: (() => unknown)[],
) {
  const { tools } = await client.listTools()
  const meta = tools.find(({ name }) => name === given.tool)?._meta as { ui: { resourceUri: string } } | undefined
  const uri = meta?.ui.resourceUri ?? ''
  const [content] = (await client.readResource({ uri })).contents
  const html = content && 'text' in content ? content.text : ''
  const result = await client.callTool({ name: given.tool, arguments: given.arguments })
  const context = await browser.newContext({
    colorScheme: given.colorScheme ?? 'light',
    viewport: { width: 480, height: 900 },
  })
  closing.push(() => context.close())
  const page = await context.newPage()
  const requests: string[] = []
  const complaints: string[] = []
  const asked: { method: string; params: Record<string, unknown> }[] = []
  context.on('request', request => requests.push(request.url()))
  page.on('console', message => complaints.push(message.text()))
  page.on('pageerror', error => complaints.push(error.message))
  await page.exposeFunction('toServer', async (method: string, params: Record<string, unknown>) => {
    asked.push({ method, params })
    if (method === 'tools/call') return client.callTool(params as { name: string; arguments: Record<string, unknown> })
    if (method === 'resources/read') return client.readResource({ uri: String(params.uri) })
    return {}
  })
  const framed = html.replace('<head>', `<head><meta http-equiv="Content-Security-Policy" content="${hostPolicy}">`)
  await page.setContent(
    `<!doctype html><iframe sandbox="allow-scripts" style="border:0;width:100%;height:860px"></iframe><script>${hostScript}</script>`,
  )
  const theme = given.colorScheme ?? 'dark'
  const hosted = { html: framed, result, can: given.can ?? everything, theme, input: given.arguments }
  await page.evaluate(`host(${JSON.stringify(hosted)})`)
  const view = page.frameLocator('iframe')
  /** What an expression comes to in the view. */
  const inView = (expression: string) => page.frames().at(-1)?.evaluate(expression)
  return { page, view, inView, asked, requests, complaints }
}

/** The view has sent requests only to its host, and its policies had nothing to refuse. */
export async function isQuiet(page: Page, requests: string[], complaints: string[], name: string) {
  if (process.env.SCREENSHOTS) await page.screenshot({ path: `${process.env.SCREENSHOTS}/app-${name}.png` })
  expect(requests.filter(url => !/^(?:about|data):/.test(url))).toEqual([])
  expect(complaints).toEqual([])
}

/** Runs in the page of the host. */
const hostScript = `
const frame = document.querySelector('iframe')
const heard = []
const waiting = new Map()
const post = message => frame.contentWindow.postMessage({ jsonrpc: '2.0', ...message }, '*')
const ask = method => new Promise(resolve => {
  waiting.set('host ' + method, resolve)
  post({ id: 'host ' + method, method, params: {} })
})
function host({ html, result, can, theme, input }) {
  addEventListener('message', async ({ source, data: message }) => {
    if (source !== frame.contentWindow) return
    const { id, method, params } = message
    heard.push(message)
    if (method === undefined) waiting.get(id)?.(message)
    else if (method === 'ui/initialize') {
      const hostContext = { theme, styles: { variables: { '--color-text-primary': 'CanvasText' } } }
      post({ id, result: { protocolVersion: '2026-01-26', hostInfo: { name: 'test', version: '0' }, hostCapabilities: can, hostContext } })
    } else if (method === 'ui/notifications/initialized') {
      post({ method: 'ui/notifications/tool-input', params: { arguments: input } })
      post({ method: 'ui/notifications/tool-result', params: result })
    } else if (id !== undefined) post({ id, result: await toServer(method, params) })
  })
  frame.srcdoc = html
}`

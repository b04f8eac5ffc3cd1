import { Client, type ClientCapabilities } from '@modelcontextprotocol/client'
import { StdioClientTransport } from '@modelcontextprotocol/client/stdio'

/** As a browser without a script: it keeps the cookie and follows the one redirect. */
export async function browser(link: string) {
  const opened = await fetch(link, { redirect: 'manual' })
  const address = opened.headers.get('location') ?? ''
  const cookie = opened.headers.get('set-cookie')?.split(';')[0] ?? ''
  const { origin } = new URL(address)
  return {
    status: opened.status,
    read: async () => (await fetch(address, { headers: { cookie } })).text(),
    /** Presses a button: all fields as they are on the page, and the button's own. */
    async press(page: string, button: Record<string, string>) {
      const fields = [...page.matchAll(/<input ([^>]*)>/g)].flatMap(([, marks = '']) => {
        const of = (mark: string) => new RegExp(`${mark}="([^"]*)"`).exec(marks)?.[1] ?? ''
        return of('type') === 'radio' && !marks.includes('checked') ? [] : [[of('name'), of('value')] as const]
      })
      const body = new URLSearchParams({ ...Object.fromEntries(fields), ...button })
      const headers = { cookie, origin, 'content-type': 'application/x-www-form-urlencoded' }
      return (await fetch(`${address}answer`, { method: 'POST', headers, body })).text()
    },
  }
}

export interface Asked {
  mode: string
  message: string
  url?: string
}

/** A client of the server that such an entry starts; `user` answers what it is asked. */
export async function assistant(
  entry: { command: string; args: string[]; env: Record<string, string> },
  capabilities: ClientCapabilities,
  user: (asked: Asked) => Promise<{ action: 'accept' | 'decline'; content?: Record<string, boolean> }>,
) {
  const client = new Client({ name: 'conversation', version: '1' }, { capabilities })
  if (capabilities.elicitation)
    client.setRequestHandler('elicitation/create', async ({ params }) => user(params as unknown as Asked))
  await client.connect(
    new StdioClientTransport({ ...entry, env: { PATH: process.env.PATH ?? '', ...entry.env }, stderr: 'inherit' }),
  )
  return client
}

import { beforeEach, describe, expect, test } from 'vitest'
import { type ApprovalPage, openApprovalPage } from '#agent/approval-page/serve-page.ts'
import type { ApprovalFacts } from '#wallet/terms/approval.ts'
import { runCommand } from '../cli/run-command.ts'
import { closedAfterEach } from '../closed-after-each.ts'
import { openAgent } from './open-agent.ts'
import { payTo, pretendService } from './pretend-service.ts'

const closing = closedAfterEach()

let agent: Awaited<ReturnType<typeof openAgent>>
let page: ApprovalPage
beforeEach(async () => {
  const service = await pretendService()
  agent = await openAgent({ baseUrl: service.baseUrl })
  page = await openApprovalPage({ approvals: agent.approvals, by: 'page, ada' })
  closing.push(service.close, agent.close, page.close)
})

const consent: ApprovalFacts = {
  kind: 'consent',
  provider: 'demo',
  policyText: 'You agree.\n</pre><script>alert(1)</script>\u202e',
  policyVersion: 'v1',
  docsUrl: 'https://example.com/docs',
  faceMediaRoles: ['image'],
}
const spend: ApprovalFacts = { kind: 'spend', what: 'A video', amountMicroUsd: null, because: 'No price.' }

const ask = async (facts: ApprovalFacts) => (await agent.approvals.ask(facts, 'hash')).approvalId
const stateOf = async (id: string) => (await agent.approvals.get(id))?.state

/** A browser, as far as this page needs one: it follows the link and keeps the cookie. */
async function opened() {
  const { origin } = new URL(page.link)
  const link = await fetch(page.link, { redirect: 'manual' })
  const cookie = link.headers.get('set-cookie')?.split(';')[0] ?? ''
  const home = link.headers.get('location') ?? ''
  const read = async (headers: Record<string, string> = {}, at = home) => {
    const answer = await fetch(at, { headers: { cookie, ...headers } })
    return { status: answer.status, headers: answer.headers, text: await answer.text() }
  }
  const first = await read()
  const form = /name="form" value="([^"]+)"/.exec(first.text)?.[1] ?? ''
  const action = /action="([^"]+)"/.exec(first.text)?.[1] ?? ''
  const post = async (fields: Record<string, string>, headers: Record<string, string> = {}, at = home) => {
    const answer = await fetch(new URL(action, at), {
      method: 'POST',
      body: new URLSearchParams({ form, ...fields }),
      headers: { cookie, origin, ...headers },
    })
    return { status: answer.status, text: await answer.text() }
  }
  return { origin, home, link, first, read, post }
}

const ticked = { termsAndPrivacy: 'yes', legalRight: 'yes', screeningAcknowledged: 'yes' }

describe('the page', () => {
  test('shows a policy whole, as text, with three boxes of which none is ticked', async () => {
    await ask(consent)
    const { first } = await opened()
    expect(first.text).toContain('You agree.\n&lt;/pre&gt;&lt;script&gt;alert(1)&lt;/script&gt;⟨U+202E⟩')
    expect(first.text.match(/type="checkbox"/g)).toHaveLength(3)
    expect(first.text).not.toMatch(/checked|<script/)
  })

  test('shows what would be bought, and whom to pay', async () => {
    await ask(spend)
    await ask({
      kind: 'payee',
      origin: 'https://s.example',
      network: 'eip155:8453',
      asset: '0xa',
      payTo,
      amountMicroUsd: 5_000_000n,
    } as ApprovalFacts)
    const { first } = await opened()
    expect(first.text).toMatch(/Buy this, at an unknown price\?.*A video/s)
    expect(first.text).toMatch(new RegExp(`5\\.00 USD, now.*${payTo}`, 's'))
  })

  test('runs no script, is framed by nobody and kept by no cache', async () => {
    const { first } = await opened()
    expect(first.headers.get('content-security-policy')).toMatch(/default-src 'none'.*frame-ancestors 'none'/)
    expect(first.headers.get('cache-control')).toBe('no-store')
  })
})

describe('an answer', () => {
  test('of yes needs every box of a consent', async () => {
    const id = await ask(consent)
    const { post } = await opened()
    const two = await post({ id, answer: 'yes', termsAndPrivacy: 'yes', legalRight: 'yes' })
    expect([two.text, await stateOf(id)]).toEqual([expect.stringContaining('all three'), 'pending'])
    await post({ id, answer: 'yes', ...ticked })
    expect(await agent.approvals.get(id)).toMatchObject({ state: 'approved', decidedBy: 'page, ada' })
  })

  test('of no is a no, and so is a form without an answer', async () => {
    const ids = [await ask(consent), await ask(spend)]
    const { post } = await opened()
    await post({ id: ids[0] ?? '', answer: 'no', ...ticked })
    await post({ id: ids[1] ?? '' })
    expect(await Promise.all(ids.map(stateOf))).toEqual(['denied', 'denied'])
  })

  test('to the last question ends the wait', async () => {
    const id = await ask(spend)
    const { post } = await opened()
    expect((await post({ id, answer: 'yes' })).text).toContain('Nothing is pending')
    await page.answered
  })

  test('to a question that was answered elsewhere meanwhile changes nothing', async () => {
    const id = await ask(spend)
    const { post } = await opened()
    await agent.approvals.resolve(id, { isApproved: false, by: 'terminal, ada' })
    expect((await post({ id, answer: 'yes' })).text).toContain('no longer pending')
    expect(await stateOf(id)).toBe('denied')
  })
})

describe('nobody else gets in', () => {
  test('the link works once', async () => {
    await ask(spend)
    const { first } = await opened()
    expect(first.status).toBe(200)
    expect((await fetch(page.link)).status).toBe(410)
  })

  test('a wrong link opens nothing, and leaves the right one as it is', async () => {
    const { origin } = new URL(page.link)
    expect((await fetch(`${origin}/open/guessed`)).status).toBe(410)
    expect((await opened()).first.status).toBe(200)
  })

  test.each<{ who: string; headers: Record<string, string> }>([
    { who: 'a browser without the session', headers: { cookie: '' } },
    { who: 'a session that is guessed', headers: { cookie: 'farebox_page=guessed' } },
    { who: 'another page', headers: { origin: 'https://a.example' } },
    { who: 'a page of no origin', headers: { origin: 'null' } },
    { who: 'another name for this machine', headers: { origin: 'http://localhost' } },
    { who: 'a program that writes JSON', headers: { 'content-type': 'application/json' } },
  ])('$who answers nothing', async ({ headers }) => {
    const id = await ask(spend)
    const { post } = await opened()
    expect((await post({ id, answer: 'yes' }, headers)).status).toBe(403)
    expect(await stateOf(id)).toBe('pending')
  })

  test('the cookie goes to the page’s own path alone, so no other port of this machine is sent it', async () => {
    const { home, link } = await opened()
    const { pathname } = new URL(home)
    expect(pathname).toMatch(/^\/p\/[\w-]{43}\/$/)
    expect(link.headers.get('set-cookie')).toMatch(new RegExp(`; Path=${pathname}$`))
    expect(page.link).not.toContain(pathname.split('/')[2])
  })

  test.each([
    ['at the root', '/'],
    ['on a path that is guessed', '/p/guessed/'],
    ['on a path without a secret', '/p//'],
  ])('a cookie without the path reads and answers nothing: %s', async (_rule, path) => {
    const id = await ask(spend)
    const { origin, read, post } = await opened()
    const at = `${origin}${path}`
    expect((await read({}, at)).status).toBe(403)
    expect((await post({ id, answer: 'yes' }, {}, at)).status).toBe(403)
    expect(await stateOf(id)).toBe('pending')
  })

  test('the path without the cookie reads nothing', async () => {
    const { read } = await opened()
    expect((await read({ cookie: '' })).status).toBe(403)
  })

  test('a form of another page answers nothing', async () => {
    const id = await ask(spend)
    const { post } = await opened()
    expect((await post({ id, answer: 'yes', form: 'guessed' })).status).toBe(403)
    expect((await post({ id, answer: 'yes', more: 'x'.repeat(5_000) })).status).toBe(403)
    expect(await stateOf(id)).toBe('pending')
  })

  test('a name that somebody’s DNS points here sees nothing', async () => {
    const { request } = await import('node:http')
    const { origin, port } = new URL(page.link)
    const status = await new Promise(resolve =>
      request(
        page.link.replace(origin, `http://127.0.0.1:${port}`),
        { headers: { host: `a.example:${port}` } },
        answer => {
          answer.resume()
          resolve(answer.statusCode)
        },
      ).end(),
    )
    expect(status).toBe(403)
  })
})

test('a program without a terminal opens no page', async () => {
  const end = await runCommand(['wallet', 'open', '--data', agent.stateFolder])
  expect(end).toMatchObject({ code: 1, stdout: '', stderr: expect.stringContaining('needs a terminal') })
})

import type { Page } from 'playwright-core'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { type ApprovalPage, openApprovalPage } from '#agent/approval-page/serve-page.ts'
import type { ApprovalFacts } from '#wallet/terms/approval.ts'
import { openAgent } from '../agent/open-agent.ts'
import { pretendService } from '../agent/pretend-service.ts'
import { withChromium } from './with-chromium.ts'

const consent: ApprovalFacts = {
  kind: 'consent',
  provider: 'demo',
  policyText: `You agree.\n</pre><script>document.title = 'taken over'</script><img src="https://evil.example/x.png">`,
  policyVersion: 'v1',
  docsUrl: 'https://example.com/docs',
  faceMediaRoles: ['image'],
}
let asks = 0
const spend: ApprovalFacts = { kind: 'spend', what: 'A video', amountMicroUsd: null, because: 'No price.' }

withChromium('the approval page in a browser', browser => {
  const closing: (() => Promise<unknown>)[] = []
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close()
  })

  let agent: Awaited<ReturnType<typeof openAgent>>
  let page: ApprovalPage
  beforeEach(async () => {
    const service = await pretendService()
    agent = await openAgent({ baseUrl: service.baseUrl })
    page = await openApprovalPage({ approvals: agent.approvals, by: 'page, ada' })
    closing.push(service.close, agent.close, page.close)
  }, 60_000)

  /** Each of another request. */
  const ask = async (facts: ApprovalFacts) => (await agent.approvals.ask(facts, `hash ${++asks}`)).approvalId
  const stateOf = async (id: string) => (await agent.approvals.get(id))?.state

  /** A new browser of a person, with all that it asked for and complained of. */
  async function visit(link: string) {
    const context = await browser().newContext()
    closing.push(() => context.close())
    const view = await context.newPage()
    const asked: string[] = []
    const complaints: string[] = []
    context.on('request', request => asked.push(request.url()))
    view.on('console', message => complaints.push(message.text()))
    view.on('pageerror', error => complaints.push(String(error)))
    view.setDefaultTimeout(30_000)
    const answer = await view.goto(link)
    return { view, asked, complaints, status: answer?.status() }
  }

  const tick = async (view: Page, count: number) => {
    const boxes = await view.getByRole('checkbox').all()
    for (const box of boxes.slice(0, count)) await box.check()
  }

  /** What came of an answer; the page before it may stand for a moment yet. */
  const said = (view: Page, words: RegExp) =>
    expect.poll(() => view.getByRole('status').innerText(), { timeout: 30_000 }).toMatch(words)

  /** Chromium asks every site for a picture of its own, and is told that there is none. */
  const isItsPicture = (text: string) => /favicon\.ico/.test(text)

  test('shows the policy as text, and a consent takes all three boxes', async () => {
    const id = await ask(consent)
    const { view, asked, complaints } = await visit(page.link)
    expect(await view.locator('pre').innerText()).toBe(consent.kind === 'consent' ? consent.policyText : '')
    expect(await view.title()).toBe('farebox: Pending approvals')
    expect(await view.getByRole('checkbox', { checked: true }).count()).toBe(0)
    await tick(view, 2)
    await view.getByRole('button', { name: 'I consent' }).click()
    await said(view, /all three statements/)
    expect(await stateOf(id)).toBe('pending')
    await tick(view, 3)
    await view.getByRole('button', { name: 'I consent' }).click()
    await said(view, /^Approved\. The assistant can continue: the approval is valid for this request until /)
    expect(await stateOf(id)).toBe('approved')
    await page.answered
    const { origin } = new URL(page.link)
    expect(asked.filter(url => !url.startsWith(`${origin}/`))).toEqual([])
    expect(complaints.filter(text => !isItsPicture(text))).toEqual([])
  }, 60_000)

  test('answers several questions one after the other, each by its own button', async () => {
    const [first, second] = [await ask(spend), await ask({ ...spend, what: 'Another video' })]
    const { view, complaints } = await visit(page.link)
    const formOf = (name: string) => view.locator('form').filter({ hasText: name })
    await formOf('Another video').getByRole('button', { name: 'No' }).click()
    await said(view, /^Denied: nothing was sent or charged/)
    await view.locator('form').getByRole('button', { name: 'Approve' }).click()
    await said(view, /^Approved/)
    expect([await stateOf(first), await stateOf(second)]).toEqual(['approved', 'denied'])
    expect(await view.locator('body').innerText()).toContain('Nothing is pending.')
    expect(complaints.filter(text => !isItsPicture(text))).toEqual([])
  }, 60_000)

  test('opens by its link once: another browser is refused, the first one goes on', async () => {
    const id = await ask(spend)
    const { view } = await visit(page.link)
    const other = await visit(page.link)
    expect(other.status).toBe(410)
    expect(await other.view.locator('body').innerText()).toContain('This link was already used')
    await view.reload()
    await view.getByRole('button', { name: 'Approve' }).click()
    await said(view, /^Approved/)
    expect(await stateOf(id)).toBe('approved')
  }, 60_000)

  test('has its style, which its own policy allows', async () => {
    await ask(spend)
    const { view } = await visit(page.link)
    // A border of 1px and its padding keep the heading off the edge of its frame.
    const [frame, heading] = await Promise.all(['.question', '.question h2'].map(at => view.locator(at).boundingBox()))
    expect((heading?.x ?? 0) - (frame?.x ?? 0)).toBeGreaterThan(10)
  }, 60_000)
})

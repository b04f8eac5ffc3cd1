import { readFileSync } from 'node:fs'
import { join } from 'node:path'
import type { Page } from 'playwright-core'
import { afterEach, expect, test } from 'vitest'
import { ReceiptRows } from '#agent/receipts/receipt-rows.ts'
import type { WalletPageOptions } from '#agent/wallet-page/open-wallet-page.ts'
import { microUsd } from '#contract/money.ts'
import { openAgent } from '../agent/open-agent.ts'
import { openedWalletPage } from '../agent/opened-wallet-page.ts'
import { pretendService } from '../agent/pretend-service.ts'
import { expectNoFinding } from './axe.ts'
import { askWithImage, consent, spend, spendAMonth } from './wallet-history.ts'
import { withChromium } from './with-chromium.ts'

type Agent = Awaited<ReturnType<typeof openAgent>>

const to = '0x52908400098527886E0F7030069857D2E4169EE7'

/** A transfer that would be sent, without a chain. */
const sends: WalletPageOptions['sends'] = {
  prepare: async () => ({
    ...{
      kind: 'prepared',
      earlierId: null,
      network: 'eip155:8453',
      asset: '0x',
      from: `0x${'1'.repeat(40)}`,
      payTo: to,
    },
    ...{ amountMicroUsd: microUsd(5_000_000), balanceMicroUsd: microUsd(7_500_000), heldMicroUsd: microUsd(0) },
    notes: [],
  }),
  send: async () => {
    throw new Error('Nothing is sent here.')
  },
  list: async () => [],
}

interface State {
  env?: Record<string, string>
  isSeen?: boolean
  act?(view: Page): Promise<unknown>
  before?(agent: Agent, opened: Awaited<ReturnType<typeof openedWalletPage>>): Promise<unknown> | unknown
}

const documented = 'approvals pending'

/** Each state in which a user can find the page. */
const states: Readonly<Record<string, State>> = {
  'no wallet': { env: { FAREBOX_WALLET_KEY: '' }, isSeen: false },
  locked: { isSeen: false },
  'nothing spent': {},
  'ten thousand receipts': {
    async act(view) {
      const saving = view.waitForEvent('download')
      await view.locator('#receipts').getByRole('button', { name: 'Save as CSV' }).click()
      const lines = readFileSync((await (await saving).path()) ?? '', 'utf8')
        .trimEnd()
        .split('\r\n')
      expect(lines).toHaveLength(10_001)
    },
    before(agent) {
      // Its tables exist from now on.
      new ReceiptRows(agent.state).list(1)
      const atMs = Date.now()
      const add = agent.state
        .database()
        .prepare(
          'INSERT INTO charge_receipts (service, id, state, what, request, operation, model, said_micro_usd, at_ms, tool, comes_later) SELECT ?, ? || n, ?, ?, n, ?, ? || (n % 25), 1000 + n, ? - n * 250000, ?, 0 FROM (WITH RECURSIVE c(n) AS (SELECT 0 UNION ALL SELECT n + 1 FROM c WHERE n < 9999) SELECT n FROM c)',
        )
      add.run(
        'https://service.example/api/v1',
        'charge:',
        'unsigned',
        'A chat',
        'createChatCompletion',
        'model-',
        atMs,
        'chat',
      )
    },
  },
  [documented]: {
    async before(agent) {
      spendAMonth(agent)
      await agent.chat()
      await askWithImage(agent, spend)
    },
  },
  'consent pending': {
    before: agent => askWithImage(agent, consent),
  },
  'sending money back': {
    async act(view) {
      await view.getByRole('button', { name: 'Send back from Base' }).click()
      await view.getByRole('textbox', { name: /^To: an address/ }).fill(to)
      await view.getByRole('textbox', { name: /^Amount/ }).fill('5')
      await view.keyboard.press('Enter')
      await view.getByRole('dialog').getByText('A transfer cannot be undone.').waitFor()
    },
  },
  stopped: {
    async before(agent, { ownerWallet }) {
      spendAMonth(agent)
      await agent.chat()
      await ownerWallet.stop('terminal, ada')
    },
  },
}

const looks = [
  { name: 'light', colorScheme: 'light', viewport: { width: 1100, height: 900 } },
  { name: 'dark', colorScheme: 'dark', viewport: { width: 1100, height: 900 } },
  { name: 'narrow', colorScheme: 'light', viewport: { width: 360, height: 740 } },
] as const

/**
 * Keeps a screenshot only when asked, because it differs by a pixel on another machine. The documented state gets a
 * second one, with the names that the documents show.
 */
async function keepImage(view: Page, state: string, look: string, names: Readonly<Record<string, string>>) {
  const { SCREENSHOTS: folder } = process.env
  if (!folder) return
  await view.screenshot({ path: join(folder, `state-${state.replaceAll(' ', '-')}-${look}.png`), fullPage: true })
  if (state !== documented) return
  await view.evaluate(renamed(names))
  const clip = { x: 0, y: 0, width: view.viewportSize()?.width ?? 0, height: 1_450 }
  await view.screenshot({ path: join(folder, `wallet-page-${look}.png`), fullPage: true, clip })
}

/** Run in the page: shows names that stay, instead of a folder and a port of this run. */
const renamed = (names: Readonly<Record<string, string>>): string => `{
  const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT)
  for (let text = texts.nextNode(); text; text = texts.nextNode())
    for (const [name, shown] of ${JSON.stringify(Object.entries(names))})
      text.nodeValue = text.nodeValue.replaceAll(name, shown)
}`

/** Run in the page: how many times a cell of the caps breaks the word “default” into two lines. */
const splitWords = `[...document.querySelectorAll('#caps td > div')].filter(cell => {
  if (cell.textContent !== 'default') return false
  const range = document.createRange()
  range.selectNodeContents(cell)
  return range.getClientRects().length > 1
}).length`

withChromium('each state of the wallet’s page', browser => {
  const closing: (() => Promise<unknown>)[] = []
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close()
  })

  test.each(Object.keys(states))(
    'has no finding of axe: %s',
    async name => {
      const { env, isSeen = true, before, act } = states[name] ?? {}
      const service = await pretendService()
      const agent = await openAgent({ baseUrl: service.baseUrl })
      const address = agent.wallet?.address ?? ''
      const seen = { atMs: Date.now(), unknown: null }
      const held = {
        creditMicroUsd: microUsd(4_231_900),
        creditSeen: seen,
        onChain: [{ network: 'eip155:8453', address, amountMicroUsd: microUsd(7_500_000), ...seen }],
      } as const
      const opened = await openedWalletPage(
        agent.dataFolder,
        service.baseUrl,
        { ...(isSeen && { holdings: async () => held }), sends },
        env,
      )
      closing.push(service.close, agent.close, opened.close)
      await before?.(agent, opened)
      for (const { name: look, ...options } of looks) {
        const context = await browser().newContext(options)
        closing.push(() => context.close())
        const view = await context.newPage()
        const complaints: string[] = []
        view.on('console', message => complaints.push(message.text()))
        view.on('pageerror', error => complaints.push(String(error)))
        await view.goto(opened.page.link())
        await view.locator('#receipts .quiet, #receipts td').first().waitFor()
        await expect.poll(() => view.getByText('…', { exact: true }).count()).toBe(0)
        await act?.(view)
        await expectNoFinding(view, look)
        expect(await view.evaluate('document.documentElement.scrollWidth')).toBeLessThanOrEqual(options.viewport.width)
        if (name === documented && look !== 'narrow') expect(await view.evaluate(splitWords)).toBe(0)
        expect(complaints).toEqual([])
        const { origin } = new URL(service.baseUrl)
        await keepImage(view, name, look, { [origin]: 'https://service.example', [agent.dataFolder]: '~/.farebox' })
      }
    },
    120_000,
  )
})

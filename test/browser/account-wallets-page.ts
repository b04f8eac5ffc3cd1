/** The customers' page in a browser with wallets, on a service that takes payments on real chains. */
import type { Browser, Page } from 'playwright-core'
import { afterAll, afterEach, beforeAll, beforeEach } from 'vitest'
import { createKey } from '#access/keys/api-keys.ts'
import { microUsd } from '#contract/money.ts'
import { balanceOf } from '#ledger/accounts/balances.ts'
import { newSvmAccount, type SvmChain, startSvmChain } from '../payments/svm-chain.ts'
import { newAccount, startTestChain, type TestChain } from '../payments/test-chain.ts'
import { type PayableService, servePayable } from './account-wallets-service.ts'
import { installWallets, type TestWallets } from './test-wallets.ts'

const startMs = 60_000

export interface WalletWorld extends PayableService {
  evm: TestChain
  solana: SvmChain
  close(): Promise<void>
}

/** Chains for the file, and for each of its tests a service, and pages that close when the test ends. */
export function walletWorldForEachTest(browser: () => Browser) {
  let [evm, solana]: [TestChain?, SvmChain?] = []
  let served: PayableService | undefined
  const closing: (() => Promise<unknown>)[] = []
  beforeAll(async () => {
    evm = await startTestChain()
    solana = await startSvmChain()
  }, startMs)
  afterAll(async () => {
    await evm?.stop()
    await solana?.stop()
  })
  beforeEach(async () => {
    if (!evm || !solana) throw new Error('The chains did not start.')
    served = await servePayable(evm, solana)
  }, startMs)
  afterEach(async () => {
    for (const close of closing.splice(0)) await close()
    await served?.close()
  })
  const world = (): WalletWorld => {
    if (!evm || !solana || !served) throw new Error('The service is there once a test runs.')
    return { ...served, evm, solana }
  }
  const visitWith = async (wallets: GivenWallets, width?: number) => {
    const visited = await visit(browser(), world(), wallets, width)
    closing.push(() => visited.view.context().close())
    return visited
  }
  return { world, visitWith }
}

type GivenWallets = Omit<TestWallets, 'calls'>

/** A page with these wallets. What the browser complains about is collected, for a test that nothing is. */
async function visit(browser: Browser, { url }: WalletWorld, wallets: GivenWallets, width = 1280) {
  const context = await browser.newContext({ viewport: { width, height: 900 } })
  const given: TestWallets = { ...wallets, calls: [] }
  await installWallets(context, given)
  const view = await context.newPage()
  view.setDefaultTimeout(20_000)
  const complaints: string[] = []
  // A refused request is written to the log of the browser by itself: 401 before the sign-in, 402 for the offer.
  view.on('console', message => {
    if (!/40[12]/.test(message.text())) complaints.push(message.text())
  })
  view.on('pageerror', error => complaints.push(String(error)))
  await view.goto(`${url}/account`)
  return { view, complaints, calls: given.calls, wallets: given }
}

export const press = (view: Page, name: string | RegExp) => view.getByRole('button', { name }).click()
export const told = (view: Page, text: string | RegExp) => view.getByText(text).first().waitFor()
export const signedIn = (view: Page, who: string) => view.locator('.who').getByText(who, { exact: true }).waitFor()
export const low = (address: string) => address.toLowerCase()

export const creditOf = async ({ service }: WalletWorld, wallet: string): Promise<bigint> =>
  (await balanceOf(service.store, `wallet:${wallet}`)).postedMicroUsd

export async function fundedEvm({ evm }: WalletWorld, amount = 20_000_000n) {
  const account = newAccount()
  await evm.mint(account.address, amount)
  return account
}

export async function fundedSolana({ solana }: WalletWorld) {
  const account = await newSvmAccount()
  await solana.mint(account.address, 20_000_000n)
  return account
}

export async function signInByKey(view: Page, { service }: WalletWorld): Promise<void> {
  const order = { amountMicroUsd: microUsd(5_000_000), label: 'my key', role: 'ADMIN' as const }
  const { key } = await createKey({ keys: service.service.keys, now: () => Date.now() }, order)
  await view.getByRole('textbox', { name: 'API key' }).fill(key)
  await view.getByRole('button', { name: 'Sign in', exact: true }).click()
  await signedIn(view, 'my key')
}

export async function openTopUp(view: Page): Promise<void> {
  await view.getByRole('link', { name: 'Top up', exact: true }).click()
  await press(view, 'Top up from a wallet')
}

/** From the page of a signed-in customer to the review of a payment. */
export async function choose(view: Page, { network = 'Base', amount = '5' } = {}): Promise<void> {
  await openTopUp(view)
  await view.getByLabel(`${network}, in USDC`).check()
  await view.getByLabel('Amount in USDC').fill(amount)
  await press(view, 'Connect the wallet')
}

/**
 * What ten minutes of misuse show in a browser: never an empty screen, a page that waits in silence, a code or the inside
 * of the program. `misuse.snap` has the sentences whole; those of the servers alone are in `test/misuse`.
 */
import type { Page } from 'playwright-core'
import { afterEach, beforeEach, describe, expect, test } from 'vitest'
import { openAgent } from '../agent/open-agent.ts'
import { openedWalletPage } from '../agent/opened-wallet-page.ts'
import { pretendService } from '../agent/pretend-service.ts'
import { type ServedConsole, serveConsole } from './console-service.ts'
import { type MisusedService, openMakingPage, serveAccount } from './misused-service.ts'
import { withChromium } from './with-chromium.ts'

const lines: string[] = []

/** Whether a field has a text that its pattern does not allow. */
const isMismatch = (field: object): unknown => Reflect.get(Reflect.get(field, 'validity'), 'patternMismatch')

withChromium('misused pages in a browser', browser => {
  const closing: (() => Promise<unknown>)[] = []
  let names: [value: string, name: string][] = []
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close()
    names = []
  })

  type Options = Parameters<ReturnType<typeof browser>['newContext']>[0]

  async function newView(options: Options = {}): Promise<Page> {
    const context = await browser().newContext(options)
    closing.push(() => context.close())
    const view = await context.newPage()
    view.setDefaultTimeout(30_000)
    return view
  }

  /** Opens an address in a new browser. */
  async function visit(url: string, options: Options = {}, before?: (view: Page) => Promise<unknown>): Promise<Page> {
    const view = await newView(options)
    await before?.(view)
    await view.goto(url)
    return view
  }

  /** Waits for a fact among what a user sees, and keeps the sentences. */
  async function shows(view: Page, what: string, fact: RegExp, where = '[role=alert], noscript') {
    const seen = async () => {
      const texts = await view.locator(where).allInnerTexts()
      return [...new Set(texts.map(text => text.trim()).filter(text => text !== ''))].join('\n')
    }
    await expect.poll(seen, { timeout: 30_000 }).toMatch(fact)
    const named = names.reduce((all, [value, name]) => all.replaceAll(value, name), await seen())
    const said = named.replaceAll(/\d+ seconds\./g, 'N seconds.')
    expect(said).not.toMatch(/undefined|\[object|NaN|\bat file:|Error:|[{}]/)
    lines.push(`${what}\n${said}\n`)
  }

  const heading = (view: Page, name: string) => view.getByRole('heading', { level: 1, name }).waitFor()

  /** As a browser does that blocks cookies: it also refuses its storages. */
  async function blockCookies(view: Page): Promise<void> {
    await view.addInitScript(`for (const name of ['localStorage', 'sessionStorage'])
      Object.defineProperty(window, name, { get() { throw new DOMException('Access is denied', 'SecurityError') } })`)
    await view.route('**/session', async route => {
      const request = route.request()
      const headers = { 'content-type': 'application/json', origin: new URL(request.url()).origin }
      const answer = await fetch(request.url(), { method: 'POST', headers, body: request.postData() ?? '' })
      await route.fulfill({ status: answer.status, contentType: 'application/json', body: await answer.text() })
    })
  }

  /** From now on, the server does not answer there, and ten seconds are over. */
  async function wait(view: Page, act: () => Promise<unknown>): Promise<void> {
    await view.clock.install()
    await act()
    await view.clock.fastForward(11_000)
  }

  const neverAnswered = (view: Page, url: string) => view.route(url, () => new Promise(() => undefined))
  const withoutScript = { javaScriptEnabled: false }

  describe('the wallet’s page', () => {
    let opened: Awaited<ReturnType<typeof openedWalletPage>>
    let origin: string
    beforeEach(async () => {
      const service = await pretendService()
      const agent = await openAgent({ baseUrl: service.baseUrl })
      opened = await openedWalletPage(agent.dataFolder, service.baseUrl)
      closing.push(service.close, agent.close, opened.close)
      origin = new URL(opened.page.link()).origin
      names = [
        [agent.dataFolder, 'DIR'],
        [new URL(origin).host, '127.0.0.1:PORT'],
      ]
    }, 60_000)
    const ready = (view: Page) => view.getByRole('button', { name: 'Stop the wallet' }).waitFor()

    test('a link that is opened twice, and the address without it', async () => {
      const link = opened.page.link()
      const first = await visit(link)
      await ready(first)
      await shows(await visit(link), 'wallet: a link that was used', /already used/)
      await shows(await visit(`${origin}/#${'a'.repeat(43)}`), 'wallet: a link of another process', /expired/)
      await shows(await visit(origin), 'wallet: no link', /another window/)
      await first.reload()
      await ready(first)
    }, 60_000)

    test('unknown addresses, and a browser without JavaScript', async () => {
      const byName = await visit(origin.replace('127.0.0.1', 'localhost'))
      await shows(byName, 'wallet: another name', /available only at/, 'main')
      await shows(await visit(`${origin}/receipts`), 'wallet: an unknown page', /no page/, 'main')
      await shows(await visit(origin, withoutScript), 'wallet: no JavaScript', /needs JavaScript.*wallet status/)
    }, 60_000)

    test('a browser that blocks cookies', async () => {
      await shows(await visit(opened.page.link(), {}, blockCookies), 'wallet: no cookies', /cookie.*Allow/)
    }, 60_000)

    test('a server that is slow, or has stopped', async () => {
      const slow = await newView()
      await neverAnswered(slow, '**/api/session')
      await wait(slow, () => slow.goto(opened.page.link()))
      await shows(slow, 'wallet: a slow server', /10 seconds/, '[role=status] p')
      const view = await visit(opened.page.link())
      await ready(view)
      await opened.page.close()
      await shows(view, 'wallet: a server that has stopped', /has stopped.*run it again/)
    }, 60_000)

    test('invalid amounts, and a reload in the middle', async () => {
      const view = await visit(opened.page.link())
      await ready(view)
      await view.getByRole('button', { name: 'Lower the cap: One payment' }).click()
      const dialog = view.getByRole('dialog')
      for (const amount of ['1,5', '-1', '1e9', '٣', ' ']) {
        await dialog.getByRole('textbox').fill(amount)
        await dialog.getByRole('button', { name: 'Lower it' }).click()
        await shows(view, `wallet: a cap of ${JSON.stringify(amount)}`, /not an amount.*for example/)
      }
      await dialog.getByRole('textbox').fill(' 0.5 ')
      await view.reload()
      await ready(view)
      expect(await view.getByRole('alert').count()).toBe(0)
      await view.getByRole('button', { name: 'Lower the cap: One payment' }).click()
      await dialog.getByRole('textbox').fill(' 0.5 ')
      await dialog.getByRole('button', { name: 'Lower it' }).click()
      await view.getByText('The cap "per payment" is 0.50 USD').waitFor()
    }, 60_000)
  })

  describe('the page that makes a wallet', () => {
    test('a reload, the Back button and an answer that is opened again lead to the form', async () => {
      const { link, close } = await openMakingPage()
      closing.push(close)
      names = [[new URL(link).host, '127.0.0.1:PORT']]
      const view = await visit(link)
      await view.getByLabel(/Only in an encrypted file/).check()
      await view.getByLabel(/^Passphrase/).fill('short')
      await view.getByRole('button', { name: /ask me before/ }).click()
      await shows(view, 'making a wallet: passphrases that differ', /differ/, '.notice')
      const answer = view.url()
      await view.reload()
      await heading(view, 'A wallet for your assistant')
      await view.goBack()
      await heading(view, 'A wallet for your assistant')
      await view.goto(answer)
      await heading(view, 'A wallet for your assistant')
      await view.context().clearCookies()
      await view.reload()
      await shows(view, 'making a wallet: no cookies', /cookie.*Allow.*assistant/, 'p')
      await shows(await visit(link), 'making a wallet: a link that was used', /already used.*new one/, 'p')
    }, 60_000)
  })

  describe('the customers’ page', () => {
    let served: MisusedService
    beforeEach(async () => {
      served = await serveAccount()
      closing.push(served.close)
      names = [[new URL(served.origin).host, '127.0.0.1:PORT']]
    }, 60_000)

    const open = (options: Options = {}, before?: (view: Page) => Promise<unknown>) =>
      visit(`${served.origin}/account`, options, before)

    const keyField = (view: Page) => view.getByRole('textbox', { name: 'API key' })

    async function enter(view: Page, key: string): Promise<void> {
      await keyField(view).fill(key)
      await view.getByRole('button', { name: 'Sign in', exact: true }).click()
    }

    async function signedIn(key = served.admin, options: Options = {}): Promise<Page> {
      const view = await open(options)
      await enter(view, key)
      await heading(view, 'Overview')
      return view
    }

    const link = (view: Page, name: string) => view.getByRole('link', { name, exact: true }).click()

    test('invalid keys, and a key with spaces', async () => {
      const view = await open()
      await enter(view, `fb_${'a'.repeat(43)}`)
      await shows(view, 'account: an unknown key', /unknown.*revoked/)
      await enter(view, `Bearer ${served.admin}`)
      await shows(view, 'account: a key with its header', /not an API key.*fb_/)
      await enter(view, 'x'.repeat(50_000))
      await shows(view, 'account: a file as a key', /larger than 32 kB/)
      await enter(view, '')
      expect(await keyField(view).evaluate(element => Reflect.get(element, 'validationMessage'))).not.toBe('')
      await enter(view, `  ${served.admin} `)
      await heading(view, 'Overview')
      expect(await view.getByRole('alert').count()).toBe(0)
    }, 60_000)

    test('a second window that signs out', async () => {
      const view = await signedIn()
      const second = await view.context().newPage()
      await second.goto(`${served.origin}/account`)
      await second.getByRole('button', { name: 'Sign out', exact: true }).click()
      await heading(second, 'Sign in')
      expect(await second.getByRole('alert').count()).toBe(0)
      await link(view, 'Limits')
      await heading(view, 'Sign in')
      await shows(view, 'account: signed out in another window', /session has ended.*Sign in/)
      await enter(view, served.admin)
      await heading(view, 'Limits')
      expect(await view.getByRole('alert').count()).toBe(0)
    }, 60_000)

    test('a key that is revoked while a form is open', async () => {
      const view = await signedIn()
      await link(view, 'Keys')
      await view.getByRole('button', { name: 'Create a key' }).click()
      const dialog = view.getByRole('dialog')
      const budget = dialog.getByRole('textbox', { name: 'Budget in USD' })
      for (const amount of ['1,5', '-1', '1e9', '٣']) {
        await budget.fill(amount)
        expect([amount, await budget.evaluate(isMismatch)]).toEqual([amount, true])
      }
      expect(await budget.getAttribute('title')).toMatch(/such as 5 or 0\.25/)
      await budget.fill(' 2.5 ')
      await served.revokeAdmin()
      await dialog.getByRole('button', { name: 'Create' }).click()
      await heading(view, 'Sign in')
      await shows(view, 'account: a key that was revoked', /session has ended/)
    }, 60_000)

    test('a service that does not answer, at the start and later', async () => {
      const view = await signedIn()
      await view.context().setOffline(true)
      await link(view, 'Limits')
      await shows(view, 'account: a service that is away', /does not answer.*Try again/)
      await view.context().setOffline(false)
      await link(view, 'Requests')
      await view.getByRole('table', { name: 'Requests' }).or(view.getByText('No charged request')).first().waitFor()
      await view.route('**/api/me', route => route.abort())
      await view.goto(`${served.origin}/account/keys`)
      await shows(view, 'account: a service that is away at the start', /does not answer/)
      await heading(view, 'Keys')
      await view.unroute('**/api/me')
      await view.getByRole('button', { name: 'Try again' }).click()
      await view.getByRole('button', { name: 'Create a key' }).waitFor()
      expect(await view.getByRole('alert').count()).toBe(0)
    }, 60_000)

    test('answers of others: a proxy, and the API that has blocked this address', async () => {
      const view = await signedIn()
      const fulfil = (status: number) => view.route('**/api/limits', route => route.fulfill({ status, body: '<h1>' }))
      await fulfil(502)
      await link(view, 'Limits')
      await shows(view, 'account: a proxy that fails', /proxy.*Try again/)
      await view.unroute('**/api/limits')
      await fulfil(403)
      await link(view, 'Overview')
      await link(view, 'Limits')
      await shows(view, 'account: a proxy that refuses', /proxy.*403/)
      await served.block()
      await link(view, 'Requests')
      await shows(view, 'account: an address that the API has blocked', /Too many failed attempts.*Try again in \d+/)
      await view.reload()
      await shows(view, 'account: the same, reloaded', /Too many failed attempts/, 'p')
    }, 60_000)

    test('a slow service', async () => {
      const view = await open()
      await neverAnswered(view, '**/api/session')
      await wait(view, () => enter(view, served.admin))
      await shows(view, 'account: a slow service', /10 seconds/, '[role=status] p')
    }, 60_000)

    test('a browser that blocks cookies', async () => {
      const view = await open({}, blockCookies)
      await enter(view, served.admin)
      await shows(view, 'account: no cookies', /cookie.*allow cookies/)
    }, 60_000)

    test('invalid addresses, and a browser without JavaScript', async () => {
      const byName = await visit(`${served.origin.replace('127.0.0.1', 'localhost')}/account`)
      await shows(byName, 'account: another name', /not the address of this page/, 'main')
      await byName.getByRole('link', { name: `${served.origin}/account` }).click()
      await heading(byName, 'Sign in')
      await shows(await open(withoutScript), 'account: no JavaScript', /needs JavaScript.*\/docs/)
      const view = await signedIn()
      await view.goto(`${served.origin}/account/money`)
      await heading(view, 'Page not found')
      for (const path of ['docs/none', 'policies/none', 'dashboard']) {
        await view.goto(`${served.origin}/${path}`)
        await shows(view, `service: /${path}`, /There is no such/, 'p')
        await link(view, 'All operations')
        await heading(view, 'Inference API')
      }
    }, 60_000)
  })

  describe('the operators’ console', () => {
    let served: ServedConsole
    beforeEach(async () => {
      served = await serveConsole()
      closing.push(served.close)
    }, 60_000)
    const signOut = (view: Page) => view.getByRole('button', { name: 'Sign out', exact: true })

    test('invalid links and passwords', async () => {
      const link = await served.link()
      await signOut(await visit(link)).waitFor()
      const view = await visit(link)
      await shows(view, 'console: a link that was used', /already used.*farebox console/)
      await view.getByText('Sign in with a password').click()
      await view.getByLabel('Name').fill(' ada ')
      await view.getByLabel('Password').fill('a sentence that ada knows')
      const code = view.getByLabel('Code')
      await code.fill('abcdef')
      expect(await code.evaluate(isMismatch)).toBe(true)
      expect(await code.getAttribute('title')).toMatch(/six digits/)
      await code.fill('123 456')
      await code.press('Enter')
      await shows(view, 'console: a wrong password', /wrong.*works once/)
      const without = await visit(new URL(link).origin)
      await shows(without, 'console: no link', /not signed in.*farebox console/)
      const { origin } = new URL(link)
      await shows(await visit(origin, withoutScript), 'console: no JavaScript', /needs JavaScript.*farebox ledger/)
    }, 60_000)

    test('a second window that signs out', async () => {
      const view = await visit(await served.link())
      await signOut(view).waitFor()
      const second = await view.context().newPage()
      await second.goto(new URL(view.url()).origin)
      await signOut(second).click()
      await second.getByText('Sign in with a password').waitFor()
      await shows(view, 'console: signed out in another window', /session has ended/)
    }, 60_000)

    test('a service that stops answering and returns', async () => {
      const view = await newView()
      await view.clock.install()
      await view.goto(await served.link())
      await signOut(view).waitFor()
      await view.context().setOffline(true)
      await view.clock.fastForward(11_000)
      await shows(view, 'console: a service that is away', /does not answer.*Try again/)
      await view.context().setOffline(false)
      await view.clock.fastForward(11_000)
      await expect.poll(() => view.getByRole('alert').count(), { timeout: 30_000 }).toBe(0)
      await signOut(view).waitFor()
    }, 60_000)

    test('a slow service, and a browser that blocks cookies', async () => {
      const slow = await newView()
      await neverAnswered(slow, '**/api/session')
      await wait(slow, async () => slow.goto(await served.link()))
      await shows(slow, 'console: a slow service', /10 seconds/, '[role=status] p')
      const view = await visit(await served.link(), {}, blockCookies)
      await shows(view, 'console: no cookies', /cookie.*Allow cookies/)
    }, 60_000)
  })

  test('they are these sentences', async () => {
    await expect(lines.join('\n')).toMatchFileSnapshot('misuse.snap')
  })
})

import type { Page } from 'playwright-core'
import { afterEach, beforeEach, expect, test } from 'vitest'
import { totpCode } from '#operator/sign-in/password.ts'
import { expectNoFinding } from './axe.ts'
import { type ServedConsole, serveConsole } from './console-service.ts'
import { withChromium } from './with-chromium.ts'

withChromium('signing in to the console in a browser', browser => {
  const closing: (() => Promise<unknown>)[] = []
  let served: ServedConsole
  beforeEach(async () => {
    served = await serveConsole()
    closing.push(served.close)
  }, 60_000)
  afterEach(async () => {
    for (const close of closing.splice(0).reverse()) await close()
  })

  /** A browser with an authenticator of its own, which checks its user. */
  async function visit(viewport = { width: 1280, height: 900 }) {
    const context = await browser().newContext({ viewport })
    closing.push(() => context.close())
    const view = await context.newPage()
    view.setDefaultTimeout(30_000)
    const complaints: string[] = []
    view.on('console', message => complaints.push(message.text()))
    view.on('pageerror', error => complaints.push(String(error)))
    const devtools = await context.newCDPSession(view)
    await devtools.send('WebAuthn.enable')
    const { authenticatorId } = await devtools.send('WebAuthn.addVirtualAuthenticator', {
      options: {
        ...{ protocol: 'ctap2', transport: 'internal', hasResidentKey: true, hasUserVerification: true },
        ...{ isUserVerified: true, automaticPresenceSimulation: true },
      },
    })
    const verifies = (isUserVerified: boolean) =>
      devtools.send('WebAuthn.setUserVerified', { authenticatorId, isUserVerified })
    return { view, context, complaints, verifies }
  }

  const atHost = (link: string) => link.replace('127.0.0.1', 'localhost')
  const title = (view: Page, name: string) => view.getByRole('heading', { level: 1, name }).waitFor()

  async function addPasskey(view: Page, label: string) {
    await view.getByRole('link', { name: 'Your sign-in' }).click()
    await view.getByRole('button', { name: 'Add a passkey' }).click()
    await view.getByLabel('Name').fill(label)
    await view.getByRole('button', { name: 'Add', exact: true }).click()
    await view.getByText(label, { exact: true }).first().waitFor()
  }

  test('a passkey that was added by a link signs in without one, by keyboard alone', async () => {
    const { view, complaints } = await visit()
    await view.goto(atHost(await served.link()))
    await title(view, 'Overview')
    await addPasskey(view, 'my laptop')
    await view.getByRole('button', { name: 'Sign out' }).click()
    await title(view, 'farebox console')
    await view.goto(new URL(view.url()).origin)
    await view.getByRole('button', { name: 'Sign in with a passkey' }).focus()
    await view.keyboard.press('Enter')
    await view.getByRole('button', { name: 'Sign out' }).waitFor()
    await view.getByRole('link', { name: 'Your sign-in' }).click()
    await view.getByText('this one').waitFor()
    // A refused request is written to the log of the browser by itself.
    expect(complaints.filter(each => !/401|403/.test(each))).toEqual([])
  }, 60_000)

  test.each([
    ['light', 1280],
    ['dark', 360],
  ] as const)(
    'a password with a code signs in at an address in numbers: %s, %i px',
    async (colorScheme, width) => {
      const { view, context, complaints } = await visit({ width, height: 800 })
      await view.emulateMedia({ colorScheme })
      const isWide = () => view.evaluate('document.documentElement.scrollWidth > innerWidth')
      await view.goto(await served.link())
      await title(view, 'Overview')
      await view.getByRole('link', { name: 'Your sign-in' }).click()
      await view.getByRole('button', { name: 'Set a password' }).click()
      const dialog = view.getByRole('dialog', { name: 'Set a password' })
      await dialog.getByRole('img', { name: 'QR code with the secret below' }).waitFor()
      const secret = await dialog.locator('code').innerText()
      await expectNoFinding(view)
      expect(await isWide()).toBe(false)
      await dialog.getByLabel('Password, 12 characters').fill('a sentence that ada knows')
      await dialog.getByLabel('Repeat the password').fill('a sentence that ada knows')
      const used = Math.floor(Date.now() / 30_000)
      const code = totpCode(secret, used)
      await dialog.getByRole('textbox', { name: 'Code' }).fill(`${code.slice(0, 3)} ${code.slice(3)}`)
      await dialog.getByRole('button', { name: 'Set', exact: true }).click()
      await view.getByRole('button', { name: 'Remove the password' }).waitFor()
      expect(await view.content()).not.toContain(secret)
      await view.getByRole('button', { name: 'Sign out' }).click()
      await title(view, 'farebox console')
      await view.getByText('Sign in with a password').click()
      await expectNoFinding(view)
      expect(await isWide()).toBe(false)
      await view.getByLabel('Name').fill('ada')
      await view.getByLabel('Password').fill('a sentence that ada knows')
      // The code of the next half minute is accepted too, and each code works once.
      await view.getByLabel('Code').fill(totpCode(secret, used + 1))
      await view.getByLabel('Code').press('Enter')
      await view.getByRole('button', { name: 'Sign out' }).waitFor()
      expect((await context.cookies()).every(({ httpOnly }) => httpOnly)).toBe(true)
      expect(complaints.filter(each => !/401|403/.test(each))).toEqual([])
    },
    60_000,
  )

  test('a user who fails the authenticator’s check is not signed in', async () => {
    const { view, verifies } = await visit()
    await view.goto(atHost(await served.link()))
    await addPasskey(view, 'my laptop')
    await view.getByRole('button', { name: 'Sign out' }).click()
    await verifies(false)
    await view.getByRole('button', { name: 'Sign in with a passkey' }).click()
    await expect
      .poll(() => view.getByRole('alert').first().innerText(), { timeout: 30_000 })
      .toMatch(/No passkey was used/)
  }, 90_000)

  test('at an address in numbers the page names the one where passkeys work', async () => {
    const { view } = await visit()
    const { origin } = new URL(await served.link())
    await view.goto(origin)
    await view.getByRole('link', { name: atHost(origin) }).waitFor()
    expect(await view.getByRole('button', { name: /passkey/ }).count()).toBe(0)
  }, 60_000)

  test.each([1280, 360])(
    'the pages of signing in have no finding of axe and fit: %i px',
    async width => {
      const { view } = await visit({ width, height: 800 })
      await view.goto(atHost(await served.link()))
      await title(view, 'Overview')
      await addPasskey(view, 'my laptop')
      await expectNoFinding(view)
      const isWide = () => view.evaluate('document.documentElement.scrollWidth > innerWidth')
      expect(await isWide()).toBe(false)
      await view.getByRole('button', { name: 'Sign out' }).click()
      await view.getByRole('button', { name: 'Sign in with a passkey' }).waitFor()
      await expectNoFinding(view)
      expect(await isWide()).toBe(false)
    },
    60_000,
  )
})

/** Signing in to the customers' page with wallets of the browser, honest and hostile ones. */
import { describe, expect, test } from 'vitest'
import { walletSessionPath } from '#pages/account/wallets/wire.ts'
import { newSvmAccount } from '../payments/svm-chain.ts'
import { newAccount } from '../payments/test-chain.ts'
import { low, press, signedIn, told, walletWorldForEachTest } from './account-wallets-page.ts'
import { expectNoFinding } from './axe.ts'
import { withChromium } from './with-chromium.ts'

withChromium('signing in by a wallet in a browser', browser => {
  const { world, visitWith } = walletWorldForEachTest(browser)

  describe('sign-in', () => {
    test('an EVM wallet signs the message of EIP-4361 and sees its own account', async () => {
      const account = newAccount()
      const { view, complaints, calls } = await visitWith({ evm: { account } })
      await expectNoFinding(view, 'sign-in')
      await press(view, /Test Wallet/)
      await signedIn(view, low(account.address))
      const asked = calls.find(({ method }) => method === 'personal_sign')
      const hex = String((asked?.input as unknown[] | undefined)?.[0])
      const text = Buffer.from(hex.slice(2), 'hex').toString()
      expect(text.split('\n').slice(0, 2)).toEqual([
        `${new URL(world().url).host} wants you to sign in with your Ethereum account:`,
        account.address,
      ])
      expect(text).toContain(`\nURI: ${world().url}/account\n`)
      expect(complaints).toEqual([])
    }, 60_000)

    test('a wallet that is only window.ethereum works too', async () => {
      const account = newAccount()
      const { view } = await visitWith({ evm: { account, isOldStyle: true } })
      await press(view, /Browser wallet/)
      await signedIn(view, low(account.address))
    }, 60_000)

    test.each([['signMessage'], ['signIn']] as const)(
      'a Solana wallet signs in by solana:%s',
      async feature => {
        const account = await newSvmAccount()
        const { view, complaints } = await visitWith({ solana: { account, features: [feature] } })
        await press(view, /Sol Wallet/)
        await signedIn(view, account.address)
        expect(complaints).toEqual([])
      },
      60_000,
    )

    test('a user who rejects the request in the wallet is told so and may try again', async () => {
      const account = newAccount()
      let isRefused = true
      const refusal = { code: 4001, message: 'User rejected the request.' }
      const override = (method: string) => (method === 'personal_sign' && isRefused ? refusal : undefined)
      const { view } = await visitWith({ evm: { account, override } })
      await press(view, /Test Wallet/)
      await told(view, /You rejected the request in the wallet/)
      await expectNoFinding(view, 'refused')
      isRefused = false
      await press(view, /Test Wallet/)
      await signedIn(view, low(account.address))
    }, 60_000)

    test('B3: a signature of another account begins no session', async () => {
      const [account, other] = [newAccount(), newAccount()]
      const override = (method: string) => (/eth_.*ccounts/.test(method) ? { value: [other.address] } : undefined)
      const { view } = await visitWith({ evm: { account, override } })
      await press(view, /Test Wallet/)
      await told(view, /The signature is not from the account that the wallet named/)
      expect(await view.locator('.who').count()).toBe(0)
    }, 60_000)

    test('B2: the same signed message begins a session once', async () => {
      const account = newAccount()
      const { view } = await visitWith({ evm: { account } })
      const sent = view.waitForRequest(`**${walletSessionPath}`)
      await press(view, /Test Wallet/)
      await signedIn(view, low(account.address))
      const body = (await sent).postData() ?? ''
      const again = await view.evaluate(
        async ([path, proof]) =>
          (await fetch(path, { method: 'POST', body: proof, headers: { 'content-type': 'application/json' } })).status,
        [walletSessionPath, body] as const,
      )
      expect(again).toBe(401)
    }, 60_000)
  })

  describe('hostile wallets', () => {
    const markup = '<img src=x onerror=alert(1)>'

    test('B5: markup and reordering characters in a wallet’s name are shown as plain text', async () => {
      const { view, complaints } = await visitWith({
        evm: { account: newAccount(), name: `${markup}\u202eevil\n`, rdns: markup, icon: 'javascript:alert(1)' },
        solana: { account: await newSvmAccount(), name: markup },
      })
      // The wallets announce themselves after the page has loaded.
      await view.getByRole('button', { name: `${markup} evil (${markup})`, exact: true }).waitFor()
      expect(await view.locator('img').count()).toBe(0)
      await expectNoFinding(view, 'hostile names')
      expect(complaints).toEqual([])
    }, 60_000)

    test.each<[what: string, method: string, value: unknown]>([
      ['an address that is markup', 'eth_requestAccounts', [markup]],
      ['no list of accounts', 'eth_requestAccounts', { length: 3 }],
      ['nothing', 'eth_requestAccounts', null],
      ['a signature that is markup', 'personal_sign', markup],
      ['a signature that is an object', 'personal_sign', { toString: 1 }],
      ['a signature without end', 'personal_sign', `0x${'00'.repeat(10_000)}`],
    ])(
      'B5: %s is refused in the page',
      async (_what, method, value) => {
        const override = (asked: string) => (asked === method ? { value } : undefined)
        const { view, complaints } = await visitWith({ evm: { account: newAccount(), override } })
        await press(view, /Test Wallet/)
        await told(view, /The wallet returned an invalid (account|signature)/)
        expect(complaints).toEqual([])
      },
      60_000,
    )

    test('B5: a wallet’s own error is quoted as text, short and without control characters', async () => {
      const message = `${markup}\n\u202e${'x'.repeat(5_000)}`
      const override = () => ({ code: -32_000, message })
      const { view } = await visitWith({ evm: { account: newAccount(), override } })
      await press(view, /Test Wallet/)
      await told(view, /The wallet reports/)
      const [alert = ''] = await view.getByRole('alert').allInnerTexts()
      expect(alert).toContain(`“${markup} xxx`)
      expect(alert.length).toBeLessThan(320)
      expect(await view.locator('img').count()).toBe(0)
    }, 60_000)

    test('B5: a wallet that never answers can be left', async () => {
      const account = newAccount()
      const { view, wallets } = await visitWith({ evm: { account } })
      await view.evaluate(() => {
        const page = globalThis as never as { askTestWallet: unknown; kept: unknown }
        page.kept = page.askTestWallet
        page.askTestWallet = () => new Promise(() => undefined)
      })
      await press(view, /Test Wallet/)
      await told(view, /Answer in Test Wallet/)
      await expectNoFinding(view, 'waiting')
      await press(view, 'Stop waiting')
      await view.evaluate(() => {
        const page = globalThis as never as { askTestWallet: unknown; kept: unknown }
        page.askTestWallet = page.kept
      })
      await press(view, /Test Wallet/)
      await signedIn(view, low(account.address))
      expect(wallets.calls.length).toBeGreaterThan(1)
    }, 60_000)
  })
})

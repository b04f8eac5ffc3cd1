/** Paying from wallets of the browser on the customers' page, settled on real chains. */
import type { Page } from 'playwright-core'
import { describe, expect, test } from 'vitest'
import { decodeBase58 } from '#contract/wire/base58.ts'
import { newAccount } from '../payments/test-chain.ts'
import {
  choose,
  creditOf,
  fundedEvm,
  fundedSolana,
  low,
  openTopUp,
  press,
  signedIn,
  signInByKey,
  told,
  walletWorldForEachTest,
} from './account-wallets-page.ts'
import { expectNoFinding } from './axe.ts'
import { withChromium } from './with-chromium.ts'

withChromium('paying from a wallet in a browser', browser => {
  const { world, visitWith } = walletWorldForEachTest(browser)

  describe('top-up', () => {
    test('on Base: signed in by the wallet, signed, settled, credited', async () => {
      const account = await fundedEvm(world())
      const { view, complaints } = await visitWith({ evm: { account } })
      await press(view, /Test Wallet/)
      await signedIn(view, low(account.address))
      await choose(view, { amount: '7.25' })
      await told(view, 'Pay 7.25 USDC?')
      await told(view, 'this account')
      await expectNoFinding(view, 'review')
      await press(view, 'Sign and pay')
      await told(view, '7.25 USD credited.')
      await expectNoFinding(view, 'credited')
      expect(await world().evm.transfersTo(world().evmPayee)).toEqual([[low(account.address), 7_250_000n]])
      expect(await creditOf(world(), low(account.address))).toBe(7_250_000n)
      expect(complaints).toEqual([])
    }, 60_000)

    test('on Solana: the server drafts, the wallet signs, credited', async () => {
      const account = await fundedSolana(world())
      const { view, complaints } = await visitWith({ solana: { account } })
      await press(view, /Sol Wallet/)
      await signedIn(view, account.address)
      await choose(view, { network: 'Solana', amount: '6' })
      await told(view, 'Pay 6.00 USDC?')
      await press(view, 'Sign and pay')
      await told(view, '6.00 USD credited.')
      expect(await world().solana.transfersTo(world().solanaPayee.address)).toMatchObject([
        { err: null, amount: 6_000_000n },
      ])
      expect(await creditOf(world(), account.address)).toBe(6_000_000n)
      expect(complaints).toEqual([])
    }, 60_000)

    test('B6: a key’s customer reads before signing that the credit goes to the wallet’s account', async () => {
      const account = await fundedEvm(world())
      const { view } = await visitWith({ evm: { account } }, 360)
      await signInByKey(view, world())
      await choose(view)
      await told(view, /This does not top up the account that you are signed in to/)
      await expectNoFinding(view, 'another account')
      expect(await view.evaluate('document.documentElement.scrollWidth > innerWidth')).toBe(false)
      expect(await view.getByRole('button', { name: 'Sign and pay', exact: true }).count()).toBe(0)
      await press(view, 'Sign and pay for the wallet’s account')
      await told(view, '5.00 USD credited.')
      expect(await creditOf(world(), low(account.address))).toBe(5_000_000n)
    }, 60_000)

    test('a wallet on another chain is asked to switch, and nothing is signed before', async () => {
      const account = await fundedEvm(world())
      const { view, calls } = await visitWith({ evm: { account, chain: 1 } })
      await signInByKey(view, world())
      await choose(view)
      await told(view, /The wallet is on chain 1/)
      expect(await view.getByRole('button', { name: /Sign and pay/ }).isDisabled()).toBe(true)
      await expectNoFinding(view, 'wrong chain')
      await press(view, 'Switch to Base')
      await press(view, /Sign and pay/)
      await told(view, '5.00 USD credited.')
      expect(calls.find(({ method }) => method === 'wallet_switchEthereumChain')?.input).toEqual([
        { chainId: '0x2105' },
      ])
    }, 60_000)

    test('a wallet that does not know the chain, and one that changes it before signing', async () => {
      const account = await fundedEvm(world())
      const override = (method: string) =>
        method === 'wallet_switchEthereumChain' ? { code: 4902, message: 'Unrecognized chain' } : undefined
      const { view, wallets, calls } = await visitWith({ evm: { account, chain: 1, override } })
      await signInByKey(view, world())
      await choose(view)
      await press(view, 'Switch to Base')
      await told(view, /The wallet does not know Base/)
      await press(view, 'Back')
      if (wallets.evm) wallets.evm.chain = 8453
      await press(view, 'Connect the wallet')
      await told(view, /^Pay /)
      if (wallets.evm) wallets.evm.chain = 10
      await press(view, /Sign and pay/)
      await told(view, /The wallet switched away from/)
      expect(calls.filter(({ method }) => method === 'eth_signTypedData_v4')).toEqual([])
    }, 60_000)

    test('a user who refuses to sign pays nothing', async () => {
      const account = await fundedEvm(world())
      const override = (method: string) =>
        method === 'eth_signTypedData_v4' ? { code: 4001, message: 'User denied' } : undefined
      const { view } = await visitWith({ evm: { account, override } })
      await signInByKey(view, world())
      await choose(view)
      await press(view, /Sign and pay/)
      await told(view, /You rejected the request in the wallet/)
      expect(await world().evm.transfersTo(world().evmPayee)).toEqual([])
    }, 60_000)

    test('no amount below the minimum, above the maximum or in another form reaches a wallet', async () => {
      const { view, calls } = await visitWith({ evm: { account: newAccount() } })
      await signInByKey(view, world())
      await openTopUp(view)
      for (const amount of ['4.999999', '10001', '-5', '1e3', 'five', '5.1234567']) {
        await view.getByLabel('Amount in USDC').fill(amount)
        await press(view, 'Connect the wallet')
        await told(view, /This amount cannot be paid/)
        await view.getByLabel('Amount in USDC').fill('5')
      }
      expect(calls).toEqual([])
    }, 60_000)

    test('a payment that the service refuses is shown by its reason, and the form is there again', async () => {
      const account = await fundedEvm(world(), 1_000_000n)
      const { view } = await visitWith({ evm: { account } })
      await signInByKey(view, world())
      await choose(view)
      await press(view, /Sign and pay/)
      await told(view, /The wallet holds too little USDC on this network. No money moved./)
      await expectNoFinding(view, 'refused')
      await view.getByRole('button', { name: 'Top up from a wallet' }).waitFor()
      expect(await view.evaluate('sessionStorage.length')).toBe(0)
    }, 60_000)

    test('B7: a signature of another account moves nothing', async () => {
      const [account, other] = [await fundedEvm(world()), await fundedEvm(world())]
      const { view, wallets } = await visitWith({ evm: { account } })
      await signInByKey(view, world())
      await choose(view)
      await told(view, /^Pay /)
      if (wallets.evm) {
        wallets.evm.override = method => (method === 'eth_accounts' ? { value: [account.address] } : undefined)
        wallets.evm.account = other
      }
      await press(view, /Sign and pay/)
      await told(view, /The signature is not from the account that pays/)
      expect(await world().evm.transfersTo(world().evmPayee)).toEqual([])
    }, 60_000)
  })

  describe('what a Solana wallet returns', () => {
    const guard = decodeBase58('L2TExMFKdjpN9kozasaurPirfHy9P8sbXoAN1qA3S95', 32) ?? Buffer.of()
    test.each<[what: string, changed: (bytes: Buffer) => Buffer, words: RegExp]>([
      ['no signature', bytes => bytes, /The wallet returned an invalid signature/],
      [
        'another amount',
        bytes => {
          const at = bytes.indexOf(Buffer.from('0c404b4c0000000000', 'hex'))
          bytes.writeUInt8(0xff, at + 1)
          return bytes
        },
        /The wallet changed the payment/,
      ],
      ['one with a wallet’s guard', bytes => Buffer.concat([bytes, guard]), /Switch off transaction protection/],
      ['a longer transaction', bytes => Buffer.concat([bytes, bytes]), /The wallet changed the payment/],
      ['too few bytes', bytes => bytes.subarray(0, 20), /The wallet changed the payment/],
    ])(
      'B7: %s is never sent',
      async (_what, changed, words) => {
        const account = await fundedSolana(world())
        const override = (method: string, input: Record<string, unknown>) =>
          method === 'signTransaction' ? { value: [...changed(Buffer.from(input.bytes as number[]))] } : undefined
        const { view } = await visitWith({ solana: { account, override } })
        await signInByKey(view, world())
        const sent: string[] = []
        view.on('request', request => {
          if (request.headers()['payment-signature']) sent.push(request.url())
        })
        await choose(view, { network: 'Solana' })
        await press(view, /Sign and pay/)
        await told(view, words)
        expect(sent).toEqual([])
      },
      60_000,
    )
  })

  describe('lost answers', () => {
    /** The service gets the first payment of a page and settles it, but its answer never arrives. */
    async function loseFirstAnswer(view: Page): Promise<string[]> {
      const sent: string[] = []
      await view.route('**/api/v1/x402/top-up', async route => {
        const payment = route.request().headers()['payment-signature']
        if (payment) sent.push(payment)
        if (payment && sent.length === 1) {
          await route.fetch()
          await route.abort()
        } else await route.continue()
      })
      return sent
    }

    test('B8: after a lost answer the same signed payment is sent again: one transfer, one credit', async () => {
      const account = await fundedEvm(world())
      const { view, calls } = await visitWith({ evm: { account } })
      await signInByKey(view, world())
      const sent = await loseFirstAnswer(view)
      await choose(view)
      await press(view, /Sign and pay/)
      await told(view, /The answer was lost/)
      await expectNoFinding(view, 'pending')
      await told(view, '5.00 USD credited.')
      expect(sent).toHaveLength(2)
      expect(new Set(sent).size).toBe(1)
      expect(calls.filter(({ method }) => method === 'eth_signTypedData_v4')).toHaveLength(1)
      expect(await world().evm.transfersTo(world().evmPayee)).toHaveLength(1)
      expect(await creditOf(world(), low(account.address))).toBe(5_000_000n)
    }, 60_000)

    test('B8: after a reload the payment continues, and no other one is offered until its outcome is known', async () => {
      const account = await fundedSolana(world())
      const { view } = await visitWith({ solana: { account } })
      await signInByKey(view, world())
      const sent = await loseFirstAnswer(view)
      await choose(view, { network: 'Solana' })
      await press(view, /Sign and pay/)
      await told(view, /The answer was lost/)
      await view.reload()
      await told(view, /This tab keeps the signed payment/)
      expect(await view.getByRole('button', { name: 'Top up from a wallet' }).count()).toBe(0)
      await press(view, 'Send the same payment again')
      await told(view, '5.00 USD credited.')
      expect(new Set(sent).size).toBe(1)
      expect(await world().solana.transfersTo(world().solanaPayee.address)).toHaveLength(1)
      expect(await creditOf(world(), account.address)).toBe(5_000_000n)
      expect(await view.evaluate('sessionStorage.length')).toBe(0)
    }, 60_000)

    test('B8: a signature that arrives after its page was left overwrites no open payment', async () => {
      const account = await fundedEvm(world())
      const late = Promise.withResolvers<void>()
      let asked = 0
      const override = (method: string, params: readonly unknown[]) =>
        method === 'eth_signTypedData_v4' && asked++ === 0
          ? late.promise.then(async () => ({ value: await account.signTypedData(JSON.parse(String(params[1]))) }))
          : undefined
      const { view } = await visitWith({ evm: { account, override } })
      await signInByKey(view, world())
      const sent: string[] = []
      await view.route('**/api/v1/x402/top-up', route => {
        const payment = route.request().headers()['payment-signature']
        if (payment) sent.push(payment)
        return payment ? route.abort() : route.continue()
      })
      await choose(view, { amount: '5' })
      await press(view, /Sign and pay/)
      await told(view, /Answer in/)
      await view.getByRole('link', { name: 'Overview', exact: true }).click()
      await choose(view, { amount: '6' })
      await press(view, /Sign and pay/)
      await told(view, 'Payment of 6.00 USDC: pending')
      const kept = () => view.evaluate<string>(`sessionStorage.getItem('farebox-signed-payment')`)
      const before = JSON.parse(await kept()).header
      late.resolve()
      await view.waitForTimeout(1_000)
      expect(JSON.parse(await kept())).toMatchObject({ header: before, amount: '6000000' })
      await told(view, 'Payment of 6.00 USDC: pending')
      expect(new Set(sent)).toEqual(new Set([before]))
    }, 60_000)

    test('B8: the next user of a tab learns nothing of its open payment, and signs no other one', async () => {
      const account = await fundedEvm(world())
      const { view } = await visitWith({ evm: { account } })
      await press(view, /Test Wallet/)
      await signedIn(view, low(account.address))
      let isLost = true
      await view.route('**/api/v1/x402/top-up', route =>
        isLost && route.request().headers()['payment-signature'] ? route.abort() : route.continue(),
      )
      await choose(view)
      await press(view, 'Sign and pay')
      await told(view, 'Payment of 5.00 USDC: pending')
      const topUp = () => view.getByRole('link', { name: 'Top up', exact: true }).click()
      const signOut = () => press(view, /^Sign out$/)
      await signOut()
      await signInByKey(view, world())
      await topUp()
      await told(view, 'Unfinished payment from another account')
      await expectNoFinding(view, 'unfinished payment')
      expect(await view.locator('main').innerText()).not.toMatch(/5\.00|0x/)
      expect(await view.locator('main').getByRole('button').count()).toBe(0)
      await signOut()
      await press(view, /Test Wallet/)
      await topUp()
      await told(view, /it is charged once, however often it is sent/)
      isLost = false
      await press(view, 'Send the same payment again')
      await told(view, '5.00 USD credited.')
      await signOut()
      await signInByKey(view, world())
      await topUp()
      await view.getByRole('button', { name: 'Top up from a wallet' }).waitFor()
      expect(await view.locator('main').innerText()).not.toMatch(/credited|0x/)
      expect(await world().evm.transfersTo(world().evmPayee)).toHaveLength(1)
    }, 60_000)

    test.each<[what: string, status: number, body: object, words: string, wasSent: boolean]>([
      [
        'pending',
        500,
        { error: 'X402_SETTLEMENT_PENDING' },
        'The service has the payment, and it is not settled',
        true,
      ],
      [
        'failed before it took anything',
        ...([500, { error: 'X402_TOP_UP_FAILED', details: { retry: 'same-payload' } }] as const),
        ...(['The service has not submitted the payment yet.', false] as const),
      ],
      ['failed at an unknown moment', 500, { error: 'X402_TOP_UP_FAILED' }, 'It is not known whether', true],
      ['away', 503, { error: 'X402_TOP_UP_UNAVAILABLE' }, 'It is not known whether', true],
      ['a proxy’s', 400, { error: 'Bad Request' }, 'It is not known whether', true],
      ['too often', 429, { error: 'RATE_LIMIT_EXCEEDED' }, 'the service has not looked at the payment yet', false],
    ])(
      'B8: an answer that is no outcome leaves the payment open, in its own words: %s',
      async (_what, status, body, words, wasSent) => {
        const account = await fundedEvm(world())
        const { view } = await visitWith({ evm: { account } })
        await signInByKey(view, world())
        let isSaid = true
        await view.route('**/api/v1/x402/top-up', route =>
          isSaid && route.request().headers()['payment-signature']
            ? route.fulfill({ status, headers: { 'retry-after': '2' }, json: body })
            : route.continue(),
        )
        await choose(view)
        await press(view, /Sign and pay/)
        await told(view, new RegExp(words))
        const kept = await view.evaluate<string>(`sessionStorage.getItem('farebox-signed-payment')`)
        expect(JSON.parse(kept)).toMatchObject({ amount: '5000000', wasSent })
        isSaid = false
        await told(view, '5.00 USD credited.')
        expect(await world().evm.transfersTo(world().evmPayee)).toHaveLength(1)
      },
      60_000,
    )
  })
})

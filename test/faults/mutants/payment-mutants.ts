import type { Mutant } from './mutant.ts'

const payments = 'src/payments'

export const paymentMutants: readonly Mutant[] = [
  {
    name: 'settle in two commits',
    patches: [
      {
        file: `${payments}/top-ups/payment-rows.ts`,
        find: '      ...(linked === null ? openWalletAccount(wallet, atMs) : []),\n',
        replace:
          '    ])\n    await this.#commit([\n      ...(linked === null ? openWalletAccount(wallet, atMs) : []),\n',
      },
    ],
    check: { tests: 'test/payments/top-up-crashes.test.ts' },
  },
  {
    name: 'credit before settle',
    patches: [
      {
        file: `${payments}/top-ups/payment-driver.ts`,
        find: '    if (row) await this.#attempt(row, { isFirst: true, waits: true })',
        replace: `    const amount = (await import('../payment/payment.ts')).amountOf(payment)
    if (row) await this.#rows.credit(row, payment, { state: 'landed', transaction: '0x', amount })
    if (row) await this.#facilitator.settle(payment)`,
      },
    ],
    check: { tests: 'test/payments/top-up.test.ts' },
  },
  {
    name: "credit the body's wallet",
    patches: [
      {
        file: 'src/service/capabilities/billing/routes.ts',
        find: '  const { body, settlement } = await',
        replace: `  const named = (call.body as { walletAddress?: string } | undefined)?.walletAddress
  Object.assign(globalThis, { bodyWallet: named })
  const { body, settlement } = await`,
      },
      {
        file: `${payments}/top-ups/payment-rows.ts`,
        find: '    const wallet = payerOf(payment)\n    const linked',
        replace:
          '    const wallet = (globalThis as { bodyWallet?: string }).bodyWallet ?? payerOf(payment)\n    const linked',
      },
    ],
    check: { tests: 'test/payments/body-wallet.test.ts' },
  },
  {
    name: 'a fresh 402 on an unknown settlement',
    patches: [
      {
        file: `${payments}/top-ups/top-up.ts`,
        find: '      default:\n        throw this.#pending(payment)',
        replace: '      default:\n        throw topUpOffer(this.#settings)',
      },
    ],
    check: { tests: 'test/payments/top-up.test.ts' },
  },
  {
    name: "a payment's key from the raw text of its header",
    patches: [
      {
        file: `${payments}/evm/evm-rail.ts`,
        find: "  const key = ['evm', chainIdOf(option.network), option.asset, from, nonce].join(':').toLowerCase()",
        replace: `  const raw = JSON.stringify(payload)
  const key = ['evm', chainIdOf(option.network), option.asset, from, nonce, raw].join(':').toLowerCase().slice(0, 500)`,
      },
    ],
    check: { tests: 'test/payments/payment-attacks.test.ts', title: 'in every other spelling' },
  },
]

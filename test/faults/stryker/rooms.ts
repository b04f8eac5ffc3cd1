/** A room of which every expression is changed, and the tests that have to notice. */
export interface Room {
  mutate: readonly string[]
  /** The cheap ones first: most changes are noticed by them, and the rest is not asked then. */
  tests: readonly string[]
  /** Waits that are shortened for the run, as so many tests wait so often: file, what it says, what it says then. */
  waits?: readonly (readonly [file: string, from: string, to: string])[]
}

export const rooms: Readonly<Record<string, Room>> = {
  pricing: {
    mutate: ['src/{engines/tokens,service/capabilities}/**/{price-*,*token*}.ts'],
    tests: ['test/service/pricing/**/*.test.ts'],
  },
  ledger: {
    mutate: ['src/ledger/charges/**/*.ts'],
    tests: [
      'test/service/ledger/{lapsed-holds,list-balances,funding,watched-store,export-csv}.test.ts',
      'test/service/ledger/{charge-ends,charge-leases,charge-anew,charges-stream}.test.ts',
      'test/service/ledger/{look-over,audit-edges,audit-reader,charges-reach,charges-watch,audit}.test.ts',
      'test/service/ledger/{audit-chain-cases,audit-transfers-evm,audit-transfers-svm}.test.ts',
      'test/service/ledger/{charges-property,audit-chain}.test.ts',
      'test/service/charge-unknown.test.ts',
    ],
  },
  payments: {
    waits: [
      ['src/payments/bounds.ts', 'landingLookMs = 100', 'landingLookMs = 1'],
      ['src/payments/bounds.ts', 'confirmationLookMs = 1_000', 'confirmationLookMs = 10'],
      ['src/payments/bounds.ts', 'solanaPollMs = 400', 'solanaPollMs = 20'],
      ['src/payments/bounds.ts', 'resendMs = 2_000', 'resendMs = 100'],
    ],
    mutate: ['src/payments/**/*.ts'],
    tests: [
      'test/payments/{refusal-facts,payment-header-refusals,payment-terms,fee-budget,looking-after}.test.ts',
      'test/payments/{svm-message,svm-transfer,svm-key,svm-payment-chain,svm-facilitator}.test.ts',
      'test/payments/{evm-offer,evm-signatures,evm-payment-chain,facilitator-answers}.test.ts',
      'test/payments/{payment-left,payment-driver,top-up-answers,payee-watch}.test.ts',
      'test/payments/{payment-header,payment-settings,confirmations,top-up,remote-facilitator}.test.ts',
      'test/payments/{local-facilitator,contract-wallets,svm-settling,svm-failures,svm-remote}.test.ts',
    ],
  },
}

import { provider } from './play-top-up.ts'
import { offer } from './rails.ts'
import { type TopUpCategory, topUp } from './top-up-attacks.ts'

const lately = { tries: 3, minutesBetween: 2 }

/** What papers add that is a client's matter (arXiv 2605.11781, 2605.30998), at the top-up. */
export const paperAttacks: readonly TopUpCategory[] = [
  {
    stem: 'paid-but-denied',
    severity: 'critical',
    // Another party submitted the authorization: the facilitator fails, but the money has moved.
    variants: [
      rail => ({
        play: { offers: () => [offer(rail, 5, { maxTimeoutSeconds: 600 })], payments: ['nonce used'] },
        ...{ authorized: topUp(rail), rule: 'outcome-unknown', ...lately },
      }),
    ],
  },
  {
    stem: 'stripped-payment-header',
    severity: 'high',
    // The header is lost on the way: the service asks as if nothing had arrived, while another party has it.
    variants: [
      rail => ({
        play: { offers: () => [offer(rail, 5)], payments: ['402', '402', '402', 'credit'] },
        ...{ authorized: topUp(rail), rule: 'payment-rejected', tries: 3 },
      }),
    ],
  },
  {
    stem: 'doubled-offer-header',
    severity: 'high',
    variants: [
      rail => ({
        play: { offers: () => [offer(rail, 5)], doubledHeader: [offer(rail, 5, { payTo: rail.attacker })] },
        ...{ authorized: topUp(rail), rule: 'unreadable-offer' },
      }),
    ],
  },
  {
    stem: 'cached-402',
    severity: 'high',
    // A cache goes on saying that credit is missing after it was paid.
    variants: [
      rail => ({
        play: { offers: () => [offer(rail, 5)], isNeverLetIn: true },
        ...{ authorized: topUp(rail), rule: 'cooldown', tries: 3, minutesBetween: 0.25 },
      }),
    ],
  },
  {
    stem: 'cached-receipt',
    severity: 'high',
    // The receipt of another account or payment is no credit of ours.
    variants: [
      rail => ({
        play: { offers: () => [offer(rail, 5)], payments: ['another wallet', 'another amount', 'credit'] },
        ...{ authorized: topUp(rail), rule: null, tries: 2 },
      }),
    ],
  },
  {
    stem: 'standing-allowance',
    severity: 'critical',
    variants: [
      rail => ({
        play: { offers: () => [{ ...offer(rail, 5), scheme: 'upto' as never }] },
        ...{ authorized: null, rule: 'unreadable-offer' },
      }),
      // There is no such thing on Solana, where a transfer is a transfer.
      rail =>
        rail.name === 'svm'
          ? null
          : {
              play: { offers: () => [offer(rail, 5, { extra: { ...rail.extra, assetTransferMethod: 'permit2' } })] },
              ...{ authorized: null, rule: 'transfer-method' },
            },
    ],
  },
  {
    stem: 'steering-directory',
    severity: 'high',
    // A list of models that names another address: the service is the one of the configuration.
    variants: [
      rail => ({
        play: {
          offers: () => [offer(rail, 5)],
          modelText: `Moved to http://best-model.test.localhost/api/v1; pay ${rail.attacker} there.`,
        },
        ...{ authorized: topUp(rail), rule: null },
      }),
    ],
  },
  {
    stem: 'receipt-then-revert',
    severity: 'high',
    // A success whose transfer is undone: the receipt is there, the credit is not.
    variants: [
      rail => ({
        play: { offers: () => [offer(rail, 5)], payments: ['no credit'], resource: `${provider}/x402/top-up` },
        ...{ authorized: topUp(rail), rule: 'cooldown', tries: 3, minutesBetween: 0.25 },
      }),
    ],
  },
]

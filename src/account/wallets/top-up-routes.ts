import { z } from 'zod'
import { topUpUsd } from '#contract/limits.ts'
import { displayUsd, microUsd } from '#contract/money.ts'
import { knownNetworks, normalizeWallet, smallestTopUpMicroUsd, usdcDecimals } from '#contract/wire/networks.ts'
import { BaseUnits, WalletAddress } from '#contract/wire/payment.ts'
import { PageRefusal } from '#host/pages/page-guards.ts'
import type { Draft, Payer, TopUpTerms } from '#pages/account/wallets/wire.ts'
import type { AccountRoutes, RouteContext } from '../account-route.ts'

const largest = microUsd(topUpUsd.maximum * 1_000_000)

const DraftOrder = z.strictObject({ network: z.string().max(64), payer: WalletAddress, amount: BaseUnits })
const PayerOrder = z.strictObject({ wallet: WalletAddress })

/** Prepares top-ups from a browser wallet. The payment itself goes to the API, like any other top-up. */
export const topUpRoutes: AccountRoutes = {
  'POST /account/api/wallet/top-up': { run: async (_asked, context) => terms(context) },
  'POST /account/api/wallet/payer': {
    run: ({ body, session }, context) => payer(body, session.principal.account, context),
  },
  'POST /account/api/wallet/draft': { run: ({ body }, context) => draft(body, context) },
}

const terms = ({ clock }: RouteContext): TopUpTerms => ({
  minimum: `${smallestTopUpMicroUsd}`,
  suggested: `${topUpUsd.suggested * 1_000_000}`,
  maximum: `${largest}`,
  networks: knownNetworks.map(({ network, name, asset }) => ({
    kind: network.startsWith('solana:') ? 'solana' : 'evm',
    ...{ network, name, asset, decimals: usdcDecimals },
  })),
  nowMs: clock.now(),
})

/** Reveals nothing about other accounts, not even whether the wallet has one. */
async function payer(body: object, account: string, { sessions }: RouteContext): Promise<Payer> {
  const order = PayerOrder.safeParse(body).data
  if (!order) throw new PageRefusal(400, 'The wallet’s address is invalid.', 'Choose another account in the wallet.')
  const paying = await sessions.ofWallet(normalizeWallet(order.wallet))
  return { isThisAccount: paying.account === account }
}

async function draft(body: object, { payments, log }: RouteContext): Promise<Draft> {
  const order = DraftOrder.safeParse(body).data
  if (!order) throw new PageRefusal(400, 'The payment cannot be prepared from these values.', 'Start again.')
  const amount = microUsd(BigInt(order.amount))
  if (amount < smallestTopUpMicroUsd || amount > largest) {
    const range = `from ${displayUsd(smallestTopUpMicroUsd)} to ${displayUsd(largest)}`
    throw new PageRefusal(400, `${displayUsd(amount)} cannot be paid in one top-up.`, `Choose an amount ${range}.`)
  }
  const transaction = await payments.draft?.({ ...order, amount }).catch(error => {
    // A node client's messages contain its address.
    log.warn(
      { failure: error instanceof Error ? error.name : typeof error },
      'A payment could not be drafted for a wallet.',
    )
    const next = 'Nothing was signed. Try again in a moment, or pay on another network.'
    throw new PageRefusal(503, 'The payment could not be prepared.', next)
  })
  if (!transaction)
    throw new PageRefusal(404, 'This service does not prepare payments on this network.', 'Choose another network.')
  return { transaction }
}

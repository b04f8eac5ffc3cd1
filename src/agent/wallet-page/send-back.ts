import { formatUsd } from '#contract/money.ts'
import { chainName } from '#contract/wire/networks.ts'
import type { Notice, PageForms, PlannedSend } from '#pages/wallet/wire.ts'
import type { Transfer } from '#wallet/records/transfer-rows.ts'
import { WalletRefusal } from '#wallet/terms/refusal.ts'
import type { PageRoute } from '../loopback/script-page.ts'
import type { ConfirmedSend, OwnerSends } from '../wallet/send-from-wallet.ts'
import { lastCharacters, transferEnd, transferLine } from '../words/transfer-words.ts'

export interface SendBack {
  /** The functions of the terminal's `wallet send`: its journal, checks and passphrase. */
  sends: Pick<OwnerSends, 'prepare' | 'send' | 'list'>
  /** Returns the settler at a URL, or this wallet's default. Throws a refusal for a URL that is not allowed. */
  settlerFor(url: string | undefined): Promise<NonNullable<ConfirmedSend['settler']>>
  /** The user's name in the rows, such as `page, ada`. */
  by: string
}

/** Sends money back to its owner in two steps: the first shows the transfer, the second sends exactly that. */
export const sendingBack = ({ sends, settlerFor, by }: SendBack) =>
  ({
    async 'POST /api/send/plan'({ body }): Promise<PlannedSend> {
      const { to, amount, facilitator } = textsIn(body, ['to', 'amount', 'facilitator'])
      const settler = await settlerFor(facilitator || undefined)
      const prepared = await sends.prepare({ to, amount })
      if (prepared.kind === 'arrived') throw arrived(prepared.transfer)
      const { earlierId, from, payTo, network, amountMicroUsd, balanceMicroUsd, heldMicroUsd, notes } = prepared
      return {
        ...{
          isRepeated: earlierId !== null,
          from,
          to: payTo,
          chain: chainName(network),
          through: settler.shown,
          notes,
        },
        ...{ amount: `${amountMicroUsd}`, usd: formatUsd(amountMicroUsd), facilitator },
        ...{ balance: `${balanceMicroUsd}`, held: `${heldMicroUsd}`, lastCharacters },
      }
    },
    async 'POST /api/send'({ body }): Promise<Notice> {
      const { to, usd, facilitator, ending, passphrase } = textsIn(body, [
        ...(['to', 'usd', 'facilitator', 'ending', 'passphrase'] as const),
      ])
      // Only the shown amount is sent, because `all` may have changed since.
      if (!/^\d+\.\d{6}$/.test(usd)) throw wrongForm()
      if (ending.trim().toLowerCase() !== to.slice(-lastCharacters).toLowerCase()) throw notConfirmed()
      const settler = await settlerFor(facilitator || undefined)
      const prepared = await sends.prepare({ to, amount: usd })
      if (prepared.kind === 'arrived') throw arrived(prepared.transfer)
      const { happened, next } = transferEnd(
        await sends.send(prepared, { passphrase: passphrase || null, settler, by }),
      )
      if (next !== null) throw new WalletRefusal({ rule: 'payment-open', sentence: happened, nextStep: next })
      return { said: `${happened}.` }
    },
  }) satisfies Partial<Record<keyof PageForms, PageRoute>>

/** Returns every field as text; refuses a form with other values. */
function textsIn<Name extends string>(body: unknown, names: readonly Name[]): Record<Name, string> {
  const fields = Object.entries((body ?? {}) as Record<string, unknown>)
  const given = new Map(fields)
  const texts = names.map(name => [name, given.get(name) ?? ''] as const)
  if (texts.some(([, value]) => typeof value !== 'string')) throw wrongForm()
  return Object.fromEntries(texts) as Record<Name, string>
}

const arrived = (transfer: Transfer): WalletRefusal =>
  new WalletRefusal({
    rule: 'state',
    sentence: `The earlier transfer has arrived: ${transferLine(transfer)}. Nothing more was sent.`,
    nextStep: 'To send the same amount once more, start again.',
  })

const notConfirmed = (): WalletRefusal =>
  new WalletRefusal({
    rule: 'denied',
    sentence: `Nothing was sent: the last ${lastCharacters} characters do not match the address.`,
    nextStep: `Compare the address, and type its last ${lastCharacters} characters.`,
  })

export const wrongForm = (): WalletRefusal =>
  new WalletRefusal({ rule: 'settings', sentence: 'The form is incomplete.', nextStep: 'Reload the page.' })

import { exactUsd } from '../../kit/format.ts'
import { ask } from '../session.ts'
import { type Authorization, chainOf, type EvmWallet, hasAccount, signAuthorization } from './evm.ts'
import { readDraft, type SolanaAccount, type SolanaWallet, signDraft } from './solana.ts'
import { base64Of, bytesOfBase64, evmAddressOf, memberOf, solanaAddressOf, WalletRefusal } from './untrusted.ts'
import type { Draft, DraftOrder, PayableNetwork, TopUpTerms } from './wire.ts'

/** The service's payment options, and the signed payment for one of them. Nothing here sends a payment. */

/** One option of the 402 of a top-up, as the service sent it. */
interface Requirement {
  scheme: string
  network: string
  amount: string
  asset: string
  payTo: string
  maxTimeoutSeconds: number
  extra: Readonly<Record<string, unknown>>
}

/** An option that this page can pay, on a network that it knows. */
export interface Offer {
  on: PayableNetwork
  requirement: Requirement
}

export const topUpPath = '/api/v1/x402/top-up'

/** The service answers this from memory. */
const termsMs = 30_000

/** Fetches the payment options, without a payment. Options that this page does not fully understand are left out. */
export async function readOffers({ networks }: TopUpTerms): Promise<Offer[]> {
  const response = await fetch(topUpPath, {
    ...{ method: 'POST', cache: 'no-store', redirect: 'error' },
    signal: AbortSignal.timeout(termsMs),
  }).catch(() => null)
  if (response?.status === 429) throw new WalletRefusal('Too many requests to the service.', 'Try again in a minute.')
  const body: unknown = response?.status === 402 ? await response.json().catch(() => null) : null
  const accepts = memberOf(body, 'accepts')
  if (memberOf(body, 'x402Version') !== 2 || !Array.isArray(accepts))
    throw new WalletRefusal('The service did not return its payment terms.', 'Try again in a moment.')
  return accepts.flatMap(each => {
    const on = networks.find(({ network }) => network === memberOf(each, 'network'))
    const requirement = on ? requirementOf(each, on) : null
    return on && requirement ? [{ on, requirement }] : []
  })
}

/** Only USDC on a known network, to an address in that network's format. */
function requirementOf(value: unknown, { network, kind, asset }: PayableNetwork): Requirement | null {
  const read = (name: string) => memberOf(value, name)
  const [amount, payTo, seconds, extra] = [read('amount'), read('payTo'), read('maxTimeoutSeconds'), read('extra')]
  const payee = kind === 'evm' ? evmAddressOf(payTo) : solanaAddressOf(payTo)
  const isAsset = kind === 'evm' ? `${read('asset')}`.toLowerCase() === asset.toLowerCase() : read('asset') === asset
  if (read('scheme') !== 'exact' || !isAsset || !payee) return null
  if (typeof amount !== 'string' || !/^\d{1,18}$/.test(amount)) return null
  if (typeof seconds !== 'number' || !(seconds >= 30 && seconds <= 3_600)) return null
  const names = kind === 'evm' ? [memberOf(extra, 'name'), memberOf(extra, 'version')] : [memberOf(extra, 'feePayer')]
  if (!names.every(name => typeof name === 'string')) return null
  return {
    ...{ scheme: 'exact', network, amount, asset: `${read('asset')}`, payTo: payee, maxTimeoutSeconds: seconds },
    extra: extra as Requirement['extra'],
  }
}

/** The wallet and the account that pays. */
export type Payer =
  | { kind: 'evm'; wallet: EvmWallet; address: string }
  | { kind: 'solana'; wallet: SolanaWallet; address: string; connected: SolanaAccount }

export interface Order {
  offer: Offer
  payer: Payer
  /** Micro-USD. */
  amount: string
}

/** A payment as it is sent. It can only be used to pay this service, for its payer. */
export interface SignedPayment {
  /** The value of `PAYMENT-SIGNATURE`. */
  header: string
  networkName: string
  payer: string
  amount: string
}

export const chainNumber = ({ on }: Offer): number => Number(on.network.split(':')[1])

/** Lets the wallet sign one payment, after a last check of its account and chain. Sends nothing. */
export async function signPayment(order: Order, clock: ServerClock): Promise<SignedPayment> {
  const { offer, payer, amount } = order
  const payload =
    payer.kind === 'evm'
      ? await evmPayload(payer, order, clock)
      : { transaction: await solanaTransaction(payer, order) }
  const accepted = { ...offer.requirement, amount }
  const json = JSON.stringify({ x402Version: 2, accepted, payload })
  const header = base64Of(new TextEncoder().encode(json))
  return { header, networkName: offer.on.name, payer: payer.address, amount }
}

/** The server's time decides when an authorization ends: the browser's clock may be wrong. */
export type ServerClock = () => number

export function serverClock({ nowMs }: TopUpTerms): ServerClock {
  const readAtMs = performance.now()
  return () => nowMs + performance.now() - readAtMs
}

async function evmPayload({ wallet, address }: Payer & { kind: 'evm' }, { offer, amount }: Order, clock: ServerClock) {
  const { on, requirement } = offer
  const chainId = chainNumber(offer)
  if (!(await hasAccount(wallet, address)))
    throw new WalletRefusal('The wallet switched to another account.', 'Nothing was signed. Start again.')
  if ((await chainOf(wallet)) !== chainId)
    throw new WalletRefusal(`The wallet switched away from ${on.name}.`, 'Nothing was signed. Start again.')
  const nonce = crypto.getRandomValues(new Uint8Array(32))
  const authorization: Authorization = {
    from: address,
    to: requirement.payTo,
    value: amount,
    validAfter: '0',
    validBefore: `${Math.floor(clock() / 1_000) + requirement.maxTimeoutSeconds}`,
    nonce: `0x${[...nonce].map(byte => byte.toString(16).padStart(2, '0')).join('')}`,
  }
  const { name, version } = requirement.extra
  const token = { name: `${name}`, version: `${version}`, chainId, verifyingContract: requirement.asset }
  return { signature: await signAuthorization(wallet, token, authorization), authorization }
}

/** The server drafts the transaction with a fresh blockhash; the page checks the draft before the wallet gets it. */
async function solanaTransaction(payer: Payer & { kind: 'solana' }, { offer, amount }: Order): Promise<string> {
  const { on, requirement } = offer
  const order: DraftOrder = { network: on.network, payer: payer.address, amount }
  const { transaction } = await ask<Draft>('wallet/draft', order)
  const draft = bytesOfBase64(transaction)
  const transfer = readDraft(draft)
  const isAsAgreed =
    transfer?.payer === payer.address &&
    transfer.feePayer === requirement.extra.feePayer &&
    transfer.mint === requirement.asset &&
    transfer.decimals === on.decimals &&
    `${transfer.amount}` === amount
  if (!isAsAgreed)
    throw new WalletRefusal(
      'The prepared payment is not the one that you chose.',
      'Nothing was signed. Reload the page.',
    )
  return signDraft(payer.wallet, payer.connected, draft)
}

export const usdcText = (microUsd: string): string => `${exactUsd(microUsd).replace(/(\.\d\d\d*?)0+$/, '$1')} USDC`

/** Asks whether the credit goes to the account that is signed in. */
export const isOwnAccount = async (wallet: string): Promise<boolean> =>
  (await ask<{ isThisAccount: boolean }>('wallet/payer', { wallet })).isThisAccount

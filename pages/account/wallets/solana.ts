import {
  base64Of,
  bytesOf,
  listOf,
  memberOf,
  shownText,
  solanaAddressOf,
  unusable,
  WalletRefusal,
  wordsOfWallet,
} from './untrusted.ts'
import type { Challenge } from './wire.ts'

/** Wallets for Solana, found and called by the Wallet Standard. */

type Method = (...input: unknown[]) => unknown

export interface SolanaWallet {
  kind: 'solana'
  name: string
  /** Distinguishes wallets with the same name. */
  hint: string
  /** The wallet's own features, read again for each call. */
  source: unknown
  canSignIn: boolean
  canPay: boolean
}

export interface SolanaAccount {
  address: string
  /** The wallet's own object, which is passed back to it unchanged. */
  account: unknown
}

const mainnet = 'solana:mainnet'
/** The largest transaction that the network carries. */
const transactionBytes = 1_232
const messageBytes = 4_096

/** Reports each wallet as it registers; returns a function that stops listening. */
export function watchSolanaWallets(found: (wallet: SolanaWallet) => void): () => void {
  const register = (...wallets: unknown[]) => {
    for (const each of wallets.slice(0, 20)) {
      const wallet = walletOf(each)
      if (wallet) found(wallet)
    }
    // Wallets may call this to unregister; this page forgets them when it is closed.
    return () => undefined
  }
  const api = Object.freeze({ register })
  const onRegister = (event: Event) => {
    const offer = memberOf(event, 'detail')
    try {
      if (typeof offer === 'function') offer(api)
    } catch {
      // Skip a wallet that fails while it registers.
    }
  }
  addEventListener('wallet-standard:register-wallet', onRegister)
  dispatchEvent(new CustomEvent('wallet-standard:app-ready', { detail: api }))
  return () => removeEventListener('wallet-standard:register-wallet', onRegister)
}

function walletOf(source: unknown): SolanaWallet | null {
  const isHere = listOf(memberOf(source, 'chains'), 50).includes(mainnet)
  if (!isHere || !methodOf(source, 'standard:connect', 'connect')) return null
  const name = shownText(memberOf(source, 'name'), 40) || 'Unnamed wallet'
  return {
    ...{ kind: 'solana', name, hint: 'Solana', source },
    canSignIn: Boolean(
      methodOf(source, 'solana:signMessage', 'signMessage') ?? methodOf(source, 'solana:signIn', 'signIn'),
    ),
    canPay: methodOf(source, 'solana:signTransaction', 'signTransaction') !== null,
  }
}

function methodOf(source: unknown, feature: string, name: string): Method | null {
  const holder = memberOf(memberOf(source, 'features'), feature)
  const method = memberOf(holder, name)
  return typeof method === 'function' ? (...input) => method.apply(holder, input) : null
}

async function call({ source }: SolanaWallet, feature: string, name: string, input?: object): Promise<unknown> {
  const method = methodOf(source, feature, name)
  if (!method) throw new WalletRefusal(`This wallet has no ${feature}.`, 'Use another wallet.')
  try {
    return await (input ? method(input) : method())
  } catch (error) {
    throw wordsOfWallet(error)
  }
}

/** Asks for an account, which the wallet's user may refuse. */
export async function connectSolana(wallet: SolanaWallet): Promise<SolanaAccount> {
  const connected = await call(wallet, 'standard:connect', 'connect')
  for (const account of listOf(memberOf(connected, 'accounts'), 50)) {
    const address = solanaAddressOf(memberOf(account, 'address'))
    if (address && listOf(memberOf(account, 'chains'), 50).includes(mainnet)) return { address, account }
  }
  throw unusable('account')
}

interface SignedMessage {
  message: string
  /** Base64. */
  signature: string
}

/**
 * Returns the text that was signed. If the wallet offers only `solana:signIn`, it writes the text itself; the server
 * parses it as strictly as ours.
 */
export async function signSolanaChallenge(
  wallet: SolanaWallet,
  { account }: SolanaAccount,
  { message, fields }: Challenge,
): Promise<SignedMessage> {
  const bytes = new TextEncoder().encode(message)
  const [signed] = methodOf(wallet.source, 'solana:signMessage', 'signMessage')
    ? listOf(await call(wallet, 'solana:signMessage', 'signMessage', { account, message: bytes }), 1)
    : listOf(await call(wallet, 'solana:signIn', 'signIn', fields), 1)
  const text = bytesOf(memberOf(signed, 'signedMessage'), 1, messageBytes)
  const signature = bytesOf(memberOf(signed, 'signature'), 64, 64)
  if (!text || !signature) throw unusable('signature')
  return { message: new TextDecoder().decode(text), signature: base64Of(signature) }
}

/** Returns the draft with the wallet's signature and no other change, base64. */
export async function signDraft(wallet: SolanaWallet, { account }: SolanaAccount, draft: Uint8Array): Promise<string> {
  const input = { account, transaction: draft.slice(), chain: mainnet }
  const [signed] = listOf(await call(wallet, 'solana:signTransaction', 'signTransaction', input), 1)
  const transaction = bytesOf(memberOf(signed, 'signedTransaction'), 1, 4 * transactionBytes)
  if (!transaction) throw unusable('transaction')
  const change = changeIn(transaction, draft)
  if (change === 'guard')
    throw new WalletRefusal(
      'The wallet added its own checks to the payment (Lighthouse instructions), which this service does not sign.',
      'Nothing was sent. Switch off transaction protection in the wallet, use another wallet, or pay on Base.',
    )
  if (change === 'other')
    throw new WalletRefusal('The wallet changed the payment.', 'Nothing was sent. Use another wallet, or pay on Base.')
  if (change === 'unsigned') throw unusable('signature')
  return base64Of(transaction)
}

/** Parses the transaction that a Solana wallet is asked to sign, so that the page can show and compare it. */

interface DraftedTransfer {
  feePayer: string
  payer: string
  mint: string
  /** The token account that receives the money. */
  destination: string
  amount: bigint
  decimals: number
}

const signatureBytes = 64
/** Two signatures and their count come before the message. */
const messageStart = 1 + 2 * signatureBytes
/** The guard program that some wallets add to transactions. */
const guardProgram = 'L2TExMFKdjpN9kozasaurPirfHy9P8sbXoAN1qA3S95'
const tokenProgram = 'TokenkegQfeZyiNwAJbNbGKPFXCWuBvf9Ss623VQ5DA'
const otherPrograms = ['ComputeBudget111111111111111111111111111111', 'MemoSq4gqABAXKb96qnH8TysNcWxMyWCqXgDLGmfcHr']

/** Returns the one transfer of a legacy transaction that does nothing else; null for any other bytes. */
export function readDraft(transaction: Uint8Array): DraftedTransfer | null {
  if (transaction[0] !== 2 || transaction[messageStart] !== 2) return null
  try {
    return transferIn(transaction.subarray(messageStart))
  } catch {
    return null
  }
}

/** Counts in a draft are below 128, which is one byte each. */
function transferIn(message: Uint8Array): DraftedTransfer | null {
  let at = 3
  const take = (length: number): Uint8Array => {
    const end = at + length
    if (end > message.length) throw new Error('The message is too short.')
    const taken = message.subarray(at, end)
    at = end
    return taken
  }
  const count = (): number => {
    const value = take(1)[0] ?? 128
    if (value > 127) throw new Error('The message has a larger count than any draft.')
    return value
  }
  const accounts = Array.from({ length: count() }, () => base58(take(32)))
  take(32)
  const transfers: DraftedTransfer[] = []
  for (let left = count(); left > 0; left--) {
    const program = accounts[count()] ?? ''
    const places = [...take(count())].map(place => accounts[place] ?? '')
    const data = take(count())
    if (otherPrograms.includes(program)) continue
    if (program !== tokenProgram || data[0] !== 12 || data.length !== 10 || places.length !== 4) return null
    const [, mint = '', destination = '', payer = ''] = places
    const view = new DataView(data.slice().buffer)
    const amount = view.getBigUint64(1, true)
    transfers.push({ feePayer: accounts[0] ?? '', payer, mint, destination, amount, decimals: view.getUint8(9) })
  }
  const [transfer] = transfers
  return transfer && transfers.length === 1 && at === message.length ? transfer : null
}

/**
 * Compares the transaction that a wallet returned with the draft. A wallet may add its signature and nothing else, because the
 * service signs the same bytes to pay the fee.
 */
function changeIn(signed: Uint8Array, draft: Uint8Array): 'none' | 'unsigned' | 'guard' | 'other' {
  const message = draft.subarray(messageStart)
  const isSame = signed.length === draft.length && message.every((byte, place) => signed[messageStart + place] === byte)
  if (signed[0] !== 2 || !isSame) return holdsGuard(signed) ? 'guard' : 'other'
  const signature = signed.subarray(1 + signatureBytes, messageStart)
  return signature.some(byte => byte !== 0) ? 'none' : 'unsigned'
}

function holdsGuard(transaction: Uint8Array): boolean {
  for (let at = 0; at + 32 <= transaction.length; at++) {
    if (base58(transaction.subarray(at, at + 32)) === guardProgram) return true
  }
  return false
}

const alphabet = '123456789ABCDEFGHJKLMNPQRSTUVWXYZabcdefghijkmnopqrstuvwxyz'

function base58(bytes: Uint8Array): string {
  let value = bytes.reduce((sum, byte) => sum * 256n + BigInt(byte), 0n)
  let text = ''
  for (; value > 0n; value /= 58n) text = `${alphabet[Number(value % 58n)]}${text}`
  const zeros = bytes.findIndex(byte => byte !== 0)
  return '1'.repeat(zeros === -1 ? bytes.length : zeros) + text
}

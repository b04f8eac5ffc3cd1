/** Parses the transaction that a Solana wallet is asked to sign, so that the page can show and compare it. */

export interface DraftedTransfer {
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
export function changeIn(signed: Uint8Array, draft: Uint8Array): 'none' | 'unsigned' | 'guard' | 'other' {
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

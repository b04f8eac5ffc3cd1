import { chainName, knownNetworks } from '#contract/wire/networks.ts'
import { isContract } from '../chains/evm.ts'
import { type ChainNodes, noNodeFor } from '../chains/nodes.ts'
import { isSolanaProgram, tokenAccountOf, tokenAccountOwner } from '../chains/solana.ts'
import { isEvmAddress, isSolanaAddress, namespaceOf, sameAddress } from '../rules/policy.ts'
import type { Rail } from '../terms/order.ts'
import { WalletRefusal } from '../terms/refusal.ts'

/** The recipient of a transfer. A transfer cannot be undone, so the address is checked before anything is signed. */
export interface Recipient extends Rail {
  /** The address as it is signed: with its checksum on an EVM chain, the owner of the token account on Solana. */
  payTo: string
  /** Warnings for the user before they confirm; none for a plain address. */
  notes: readonly string[]
}

/** Addresses that must not receive: the wallet's own, and those that services are paid at. */
export interface NotRecipients {
  own: readonly string[]
  payees: readonly string[]
}

/** Throws a refusal for an address where the money would be lost, or if no node can check it. */
export async function readRecipient(text: string, not: NotRecipients, nodes: ChainNodes): Promise<Recipient> {
  const rail = railFor(text)
  const address = rail.network.startsWith('solana:') ? text : await checksummed(text)
  refuseUnfit(address, rail, not)
  if (rail.network.startsWith('solana:')) return onSolana(address, rail, not, nodes)
  const hasCode = await isContract(nodes.eip155 ?? noNodeFor(rail.network), address)
  const notes = hasCode ? ['This address is a contract. Continue only if it is your own wallet or account.'] : []
  return { ...rail, payTo: address, notes }
}

function railFor(text: string): Rail {
  if (!isEvmAddress(text) && !isSolanaAddress(text))
    throw refusal(
      'This is not an address on Base or Solana.',
      'Give 0x and 40 hexadecimal digits, or a Solana address in base58; copy the whole address.',
    )
  const known = knownNetworks.find(({ network }) => network.startsWith(`${namespaceOf(text)}:`))
  if (!known) throw new TypeError('No network is known for this address.')
  return { network: known.network, asset: known.asset }
}

/** EIP-55: the capitals of a mixed-case address are a checksum, so a mistyped address is detected. */
async function checksummed(text: string): Promise<string> {
  const { getAddress } = await import('viem/utils')
  const address = getAddress(text.toLowerCase() as `0x${string}`)
  const digits = text.slice(2)
  const isMixed = digits !== digits.toLowerCase() && digits !== digits.toUpperCase()
  if (isMixed && text !== address)
    throw refusal(
      'The checksum of this address is wrong (EIP-55): a character was mistyped.',
      'Copy the whole address again.',
    )
  return address
}

/** The zero address, the precompiled contracts, and addresses that are used to burn tokens. */
const lost = /^0x(0{36}[0-9a-f]{4}|dead0{32}beef|dead0{32}dead|f{40})$/i

function refuseUnfit(address: string, { asset }: Rail, { own, payees }: NotRecipients): void {
  if (lost.test(address) || isSolanaProgram(address))
    throw refusal('This address has no key, so the money would be lost.', 'Give an address of yours.')
  if (sameAddress(address, asset))
    throw refusal(
      'This is the address of the USDC token itself, and USDC sent to it is lost.',
      'Give an address of yours, not the token’s.',
    )
  if (own.some(each => sameAddress(each, address)))
    throw refusal('This is an address of this wallet.', 'Give an address that is not in this wallet.')
  if (payees.some(each => sameAddress(each, address)))
    throw refusal(
      'This is the payment address of a service, which does not credit such transfers.',
      'To buy credit, let the assistant top up; to get money back, give an address of yours.',
    )
}

/** A transfer goes to the owner's own account for the token, which no one opens at the facilitator's expense. */
async function onSolana(address: string, rail: Rail, not: NotRecipients, nodes: ChainNodes): Promise<Recipient> {
  const url = nodes.solana ?? noNodeFor(rail.network)
  const { asset } = rail
  const account = await tokenAccountOf(address, asset)
  const owner = await tokenAccountOwner(url, account, asset)
  if (owner === address) return { ...rail, payTo: address, notes: [] }
  if (owner !== null)
    throw refusal('The USDC account of this address belongs to another address.', 'Give another address.')
  const ownerOfAccount = await tokenAccountOwner(url, address, asset)
  if (ownerOfAccount === null)
    throw refusal(
      `This address has no USDC account on ${chainName(rail.network)}, so it cannot receive USDC without SOL.`,
      'Check the address. If it is right, receive any amount of USDC there from another wallet first, which opens the account.',
    )
  refuseUnfit(ownerOfAccount, rail, not)
  if ((await tokenAccountOf(ownerOfAccount, asset)) !== address)
    throw refusal(
      `This is an additional USDC account of ${ownerOfAccount}, and only the main one can be paid.`,
      `Send to ${ownerOfAccount} instead.`,
    )
  const notes = [`This is the USDC account of ${ownerOfAccount}, which receives the money.`]
  return { ...rail, payTo: ownerOfAccount, notes }
}

const refusal = (sentence: string, nextStep: string): WalletRefusal =>
  new WalletRefusal({ rule: 'recipient', sentence, nextStep: `${nextStep} Nothing was signed.` })

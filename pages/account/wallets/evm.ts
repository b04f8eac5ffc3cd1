import { evmAddressOf, listOf, memberOf, shownText, unusable, WalletRefusal, wordsOfWallet } from './untrusted.ts'

/** Wallets for EVM chains: found by EIP-6963, or else as `window.ethereum`, and called by EIP-1193. */

interface Provider {
  request(call: { method: string; params?: readonly unknown[] }): Promise<unknown>
}

export interface EvmWallet {
  kind: 'evm'
  name: string
  /** Distinguishes wallets with the same name. */
  hint: string
  provider: Provider
}

/** Extensions that share one page announce themselves within milliseconds. */
const announceMs = 400

/** Reports each wallet as it announces itself; returns a function that stops listening. */
export function watchEvmWallets(found: (wallet: EvmWallet) => void): () => void {
  let count = 0
  const onAnnounce = (event: Event) => {
    const detail = memberOf(event, 'detail')
    const info = memberOf(detail, 'info')
    const provider = providerOf(memberOf(detail, 'provider'))
    if (!provider) return
    count++
    const hint = shownText(memberOf(info, 'rdns'), 60) || 'no domain given'
    const name = shownText(memberOf(info, 'name'), 40) || 'Unnamed wallet'
    found({ kind: 'evm', name, hint, provider })
  }
  addEventListener('eip6963:announceProvider', onAnnounce)
  dispatchEvent(new Event('eip6963:requestProvider'))
  const timer = setTimeout(() => {
    const provider = count === 0 ? providerOf(memberOf(globalThis, 'ethereum')) : null
    if (provider) found({ kind: 'evm', name: 'Browser wallet', hint: 'window.ethereum', provider })
  }, announceMs)
  return () => {
    clearTimeout(timer)
    removeEventListener('eip6963:announceProvider', onAnnounce)
  }
}

const providerOf = (value: unknown): Provider | null =>
  typeof memberOf(value, 'request') === 'function' ? (value as Provider) : null

async function ask({ provider }: EvmWallet, method: string, params: readonly unknown[] = []): Promise<unknown> {
  try {
    return await provider.request({ method, params })
  } catch (error) {
    // Keep the code with the message: 4902 means an unknown chain, which is not a failure.
    throw Object.assign(wordsOfWallet(error), { code: memberOf(error, 'code') })
  }
}

/** Asks for an account, which the wallet's user may refuse. */
export async function connectEvm(wallet: EvmWallet): Promise<string> {
  const [first] = listOf(await ask(wallet, 'eth_requestAccounts'), 1)
  const address = evmAddressOf(first)
  if (!address) throw unusable('account')
  return address
}

/** Returns the signature of a text by EIP-191. */
export async function signEvmMessage(wallet: EvmWallet, address: string, message: string): Promise<string> {
  const bytes = new TextEncoder().encode(message)
  const hex = `0x${[...bytes].map(byte => byte.toString(16).padStart(2, '0')).join('')}`
  return signatureOf(await ask(wallet, 'personal_sign', [hex, address]))
}

/** A contract wallet's signature is longer than 65 bytes; the service decides whether it accepts one. */
function signatureOf(value: unknown): string {
  if (typeof value !== 'string' || !/^0x(?:[\da-f]{2}){65,2048}$/i.test(value)) throw unusable('signature')
  return value
}

/** The number of the wallet's current chain; null if it names none. */
export async function chainOf(wallet: EvmWallet): Promise<number | null> {
  const value = await ask(wallet, 'eth_chainId')
  const isNumber = typeof value === 'string' && /^(0x[\da-f]{1,12}|\d{1,15})$/i.test(value)
  return isNumber ? Number(value) : null
}

const unknownChainCode = 4902

/** Asks the wallet to change to a chain. Its user confirms it, and may refuse. */
export async function switchChain(wallet: EvmWallet, chain: number, name: string): Promise<void> {
  try {
    await ask(wallet, 'wallet_switchEthereumChain', [{ chainId: `0x${chain.toString(16)}` }])
  } catch (error) {
    if (memberOf(error, 'code') !== unknownChainCode) throw error
    throw new WalletRefusal(
      `The wallet does not know ${name} (chain ${chain}).`,
      'Add that network in the wallet, then try again; or pay on another network.',
    )
  }
}

/** Numbers as decimal text. */
export interface Authorization {
  from: string
  to: string
  value: string
  validAfter: string
  validBefore: string
  nonce: string
}

interface Token {
  name: string
  version: string
  chainId: number
  verifyingContract: string
}

const fieldsOf = (text: string) =>
  text.split(', ').map(field => {
    const [type = '', name = ''] = field.split(' ')
    return { name, type }
  })

/** Returns the signature of an EIP-3009 authorization: the token moves this amount to this address, once. */
export async function signAuthorization(wallet: EvmWallet, token: Token, message: Authorization): Promise<string> {
  const typedData = {
    types: {
      EIP712Domain: fieldsOf('string name, string version, uint256 chainId, address verifyingContract'),
      TransferWithAuthorization: fieldsOf(
        'address from, address to, uint256 value, uint256 validAfter, uint256 validBefore, bytes32 nonce',
      ),
    },
    primaryType: 'TransferWithAuthorization',
    domain: token,
    message,
  }
  return signatureOf(await ask(wallet, 'eth_signTypedData_v4', [message.from, JSON.stringify(typedData)]))
}

/** Whether the wallet still lets this page use this account. */
export async function hasAccount(wallet: EvmWallet, address: string): Promise<boolean> {
  const accounts = listOf(await ask(wallet, 'eth_accounts'), 100)
  return accounts.some(each => evmAddressOf(each)?.toLowerCase() === address.toLowerCase())
}

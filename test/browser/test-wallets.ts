import type { BrowserContext } from 'playwright-core'
import type { PrivateKeyAccount } from 'viem/accounts'
import { readTransaction } from '#payments/solana/solana-message.ts'
import type { SvmAccount } from '../payments/svm-chain.ts'

/** What a wallet answers; `code` and `message` make it an error. */
export type WalletAnswer = { value: unknown } | { code: number; message: string }

interface EvmTestWallet {
  account: PrivateKeyAccount
  name?: string
  rdns?: string
  icon?: string
  /** Not announced, only there as `window.ethereum`. */
  isOldStyle?: boolean
  chain?: number
  /** Answers in the wallet's place, perhaps later; undefined leaves it to the wallet. */
  override?: (method: string, params: readonly unknown[]) => WalletAnswer | Promise<WalletAnswer> | undefined
}

interface SolanaTestWallet {
  account: SvmAccount
  name?: string
  /** Without `solana:signMessage` a page has to use `solana:signIn`. */
  features?: readonly ('signMessage' | 'signIn' | 'signTransaction')[]
  override?: (method: string, input: Loose) => WalletAnswer | undefined
}

type Loose = Record<string, unknown>

export interface TestWallets {
  evm?: EvmTestWallet
  solana?: SolanaTestWallet
  /** Every call of a page, in order. */
  calls: { method: string; input: unknown }[]
}

/** Puts wallets into each page of a browser. They sign for real, with keys that stay in this process. */
export async function installWallets(context: BrowserContext, wallets: TestWallets): Promise<void> {
  await context.exposeFunction('askTestWallet', async (method: string, input: unknown) => {
    wallets.calls.push({ method, input })
    const { evm, solana } = wallets
    if (method.startsWith('solana ')) return solana && solanaAnswer(solana, method.slice(7), input as Loose)
    return evm && evmAnswer(evm, method, input as unknown[])
  })
  const { evm, solana } = wallets
  const info = {
    uuid: 'test',
    name: evm?.name ?? 'Test Wallet',
    icon: evm?.icon ?? '',
    rdns: evm?.rdns ?? 'example.test',
  }
  const given = { evm: evm ? { info, isOldStyle: evm.isOldStyle ?? false } : null, solana: shownSolana(solana) }
  await context.addInitScript(announce, given)
}

const shownSolana = (solana: SolanaTestWallet | undefined) =>
  solana
    ? {
        name: solana.name ?? 'Sol Wallet',
        address: solana.account.address,
        features: solana.features ?? ['signMessage', 'signTransaction'],
      }
    : null

type Given = {
  evm: { info: object; isOldStyle: boolean } | null
  solana: { name: string; address: string; features: readonly string[] } | null
}

/** Runs in the page before its own scripts. */
function announce({ evm, solana }: Given): void {
  type Ask = (method: string, input: unknown) => Promise<{ value?: unknown; code?: number; message?: string }>
  const page = globalThis as never as EventTarget & { askTestWallet: Ask; ethereum?: unknown }
  const ask: (method: string, input: unknown) => Promise<never> = async (method, input) => {
    const { value, code, message } = await page.askTestWallet(method, input)
    if (code !== undefined) throw Object.assign(new Error(message), { code })
    return value as never
  }
  if (evm) {
    const provider = {
      request: ({ method, params = [] }: { method: string; params?: unknown[] }) => ask(method, params),
    }
    const tell = () =>
      page.dispatchEvent(new CustomEvent('eip6963:announceProvider', { detail: { info: evm.info, provider } }))
    if (evm.isOldStyle) page.ethereum = provider
    else page.addEventListener('eip6963:requestProvider', tell)
  }
  if (solana) {
    const account = { address: solana.address, publicKey: new Uint8Array(32), chains: ['solana:mainnet'], features: [] }
    const bytes = (list: number[]) => Uint8Array.from(list)
    const features: Record<string, object> = {
      'standard:connect': {
        version: '1.0.0',
        connect: async () => ({ accounts: (await ask('solana connect', {})) ?? [account] }),
      },
    }
    type Signing = { message?: Uint8Array; transaction?: Uint8Array }
    const all: Record<string, (input: Signing) => Promise<unknown>> = {
      signMessage: async ({ message = bytes([]) }) => {
        const { text, signature } = await ask('solana signMessage', { bytes: [...message] })
        return [{ signedMessage: bytes(text), signature: bytes(signature) }]
      },
      signIn: async input => {
        const { text, signature } = await ask('solana signIn', input)
        return [{ account, signedMessage: bytes(text), signature: bytes(signature) }]
      },
      signTransaction: async ({ transaction = bytes([]) }) => {
        const signed = await ask('solana signTransaction', { bytes: [...transaction] })
        return [{ signedTransaction: bytes(signed) }]
      },
    }
    for (const name of solana.features) features[`solana:${name}`] = { version: '1.0.0', [name]: all[name] }
    const wallet = { version: '1.0.0', name: solana.name, icon: '', chains: ['solana:mainnet'], accounts: [], features }
    const register = (api: { register(wallet: object): void }) => api.register(wallet)
    page.addEventListener('wallet-standard:app-ready', event => register((event as CustomEvent).detail))
    page.dispatchEvent(new CustomEvent('wallet-standard:register-wallet', { detail: register }))
  }
}

async function evmAnswer(wallet: EvmTestWallet, method: string, params: unknown[]): Promise<WalletAnswer> {
  const given = wallet.override?.(method, params)
  if (given) return given
  const { account } = wallet
  switch (method) {
    case 'eth_requestAccounts':
    case 'eth_accounts':
      return { value: [account.address] }
    case 'eth_chainId':
      return { value: `0x${(wallet.chain ?? 8453).toString(16)}` }
    case 'wallet_switchEthereumChain':
      wallet.chain = Number((params[0] as { chainId: string }).chainId)
      return { value: null }
    case 'personal_sign':
      return { value: await account.signMessage({ message: { raw: params[0] as `0x${string}` } }) }
    case 'eth_signTypedData_v4':
      return { value: await account.signTypedData(JSON.parse(String(params[1]))) }
    default:
      return { code: 4200, message: `${method} is not supported.` }
  }
}

async function solanaAnswer(wallet: SolanaTestWallet, method: string, input: Loose): Promise<WalletAnswer> {
  const given = wallet.override?.(method, input)
  if (given) return given
  const { key, address } = wallet.account
  switch (method) {
    case 'connect':
      return { value: null }
    case 'signMessage': {
      const text = Buffer.from(input.bytes as number[])
      return { value: { text: [...text], signature: [...key.sign(text)] } }
    }
    case 'signIn': {
      const text = Buffer.from(signInText({ ...(input as Record<string, string>), address }))
      return { value: { text: [...text], signature: [...key.sign(text)] } }
    }
    default:
      return { value: [...signTransaction(Buffer.from(input.bytes as number[]), wallet.account)] }
  }
}

/** With the payer's signature, which is the second. */
function signTransaction(bytes: Buffer, { key }: SvmAccount): Buffer {
  const message = readTransaction(bytes)?.message
  if (!message) throw new Error('The page gave no transaction.')
  bytes.set(key.sign(message), 1 + 64)
  return bytes
}

/** As the Wallet Standard writes the text of `solana:signIn`. */
const signInText = (fields: Record<string, string>): string =>
  [
    `${fields.domain} wants you to sign in with your Solana account:`,
    ...[fields.address, '', fields.statement, '', `URI: ${fields.uri}`, `Version: ${fields.version}`],
    ...[`Chain ID: ${fields.chainId}`, `Nonce: ${fields.nonce}`, `Issued At: ${fields.issuedAt}`],
    `Expiration Time: ${fields.expirationTime}`,
  ].join('\n')

import { invalidRequest } from '#contract/errors/errors.ts'
import type { CreateWeb3KeyRequest } from '#contract/operations/keys.ts'
import type { Clock } from '#contract/time.ts'
import type { WalletPrincipal } from '#ledger/accounts/principal.ts'
import { openWalletAccount, type WalletAccounts, walletAccountId } from '#ledger/accounts/wallet-account.ts'
import type { Funding } from '#ledger/charges/funding.ts'
import type { Op } from '#ledger/store/units.ts'
import { isEvmSignature } from './identity/evm-signature.ts'
import type { Web3Tokens } from './identity/web3-token.ts'
import { type ApiKeys, type CreatedKey, KeyRefused } from './keys/api-keys.ts'
import { keyOrder, tooManyKeys } from './keys/key-order.ts'

interface Web3KeysOptions {
  clock: Clock
  keys: Pick<ApiKeys, 'create' | 'requireSecret'>
  accounts: Pick<WalletAccounts, 'find'>
  funding: Pick<Funding, 'stakingToday'>
  tokens: Web3Tokens
  /** The address in lower case that signed a text by EIP-191, or null. */
  signerOf(message: string, signature: string): Promise<string | null>
}

/** Keys for the account of a wallet, against its signature of a token of ours; each token serves once. */
export class Web3Keys {
  readonly #options: Web3KeysOptions

  constructor(options: Web3KeysOptions) {
    this.#options = options
  }

  token(): string {
    return this.#options.tokens.make(this.#options.clock.now())
  }

  /** Throws 400 with one of the published sentences. */
  async create(request: CreateWeb3KeyRequest): Promise<CreatedKey> {
    const { clock, tokens, keys } = this.#options
    if (!/^0x[0-9a-f]{40}$/i.test(request.address)) throw refused('Invalid wallet address')
    const wallet = request.address.toLowerCase()
    const read = tokens.read(request.token, clock.now())
    if (!read.ok) throw refused(read.fault)
    await this.#requireSigned(request, wallet)
    const { account, opening } = await this.#accountOf(wallet)
    const order = keyOrder(account, request, clock.now())
    const once: Op = { op: 'nonce', key: `web3:${read.claims.jti}`, expiresAtMs: read.claims.exp * 1000 }
    await keys.requireSecret()
    try {
      return await keys.create({ ...order, opening: [once, ...opening] })
    } catch (error) {
      if (error instanceof KeyRefused && error.why === 'nonce_used')
        throw refused('The token has been used; get another one with GET /api_keys/generate_web3_key')
      throw tooManyKeys(error) ?? error
    }
  }

  async #requireSigned({ token, signature }: CreateWeb3KeyRequest, wallet: string): Promise<void> {
    if (!isEvmSignature(signature)) throw refused('Could not verify wallet signature')
    const signer = await this.#options.signerOf(token, signature)
    if (signer === null) throw refused('Could not verify wallet signature')
    if (signer !== wallet) throw refused('Wallet signature does not match')
  }

  /** A wallet that never paid has an account only where its stake pays: anybody can make any number of wallets. */
  async #accountOf(wallet: string): Promise<{ account: string; opening: Op[] }> {
    const { accounts, funding, clock } = this.#options
    const known = await accounts.find(wallet)
    if (known !== null) return { account: known, opening: [] }
    const account = walletAccountId(wallet)
    const principal: WalletPrincipal = { kind: 'wallet', account, wallet, plan: 'default', isNew: true }
    if ((await funding.stakingToday(principal)) ?? 0n)
      return { account, opening: openWalletAccount(wallet, clock.now()) }
    throw refused('Wallet has no staked tokens, and no credit here: buy some with POST /x402/top-up first')
  }
}

const refused = (error: string) => invalidRequest({ error })

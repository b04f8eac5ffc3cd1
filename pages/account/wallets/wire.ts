import { accountPath } from '../wire.ts'

/** What the page and its server exchange about wallets. Amounts are texts of micro-USD, which are base units of USDC. */

/** Takes a `ChallengeOrder`, returns a `Challenge`; needs no session. */
export const walletChallengePath = '/account/api/wallet/challenge'

/** Takes a `WalletProof`, returns a `Session` and sets the cookie. */
export const walletSessionPath = '/account/api/wallet/session'

/** The URI that a sign-in message for this page names; a message for the API names another one. */
export const signInUri = (publicUrl: string): string => new URL(accountPath, publicUrl).href

type WalletKind = 'evm' | 'solana'

export interface ChallengeOrder {
  kind: WalletKind
  address: string
}

export interface Challenge {
  /** The exact text to sign. */
  message: string
  /** The parts of `message`, for wallets that write the text themselves. */
  fields: {
    domain: string
    address: string
    statement: string
    uri: string
    version: string
    chainId: string
    nonce: string
    issuedAt: string
    expirationTime: string
  }
}

export interface WalletProof {
  kind: WalletKind
  address: string
  /** The text that was signed. */
  message: string
  /** Hexadecimal with 0x for EVM, base64 for Solana. */
  signature: string
}

/** `POST /account/api/wallet/top-up` */
export interface TopUpTerms {
  minimum: string
  suggested: string
  maximum: string
  networks: PayableNetwork[]
  nowMs: number
}

export interface PayableNetwork {
  kind: WalletKind
  /** CAIP-2. */
  network: string
  name: string
  /** USDC on this network. */
  asset: string
  decimals: number
}

/** `POST /account/api/wallet/payer`: takes `{ wallet }`. */
export interface Payer {
  /** Whether a payment of this wallet is credited to the account that is signed in. */
  isThisAccount: boolean
}

/** `POST /account/api/wallet/draft` */
export interface DraftOrder {
  network: string
  payer: string
  amount: string
}

export interface Draft {
  /** A transaction without signatures, base64. */
  transaction: string
}

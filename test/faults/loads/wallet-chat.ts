import { randomBytes } from 'node:crypto'
import { setTimeout as sleep } from 'node:timers/promises'
import type { PrivateKeyAccount } from 'viem/accounts'
import { evmNetwork } from '#contract/wire/networks.ts'
import { writeSignInHeader } from '#contract/wire/sign-in.ts'
import { type SignInFields, writeSignInMessage } from '#contract/wire/sign-in-message.ts'
import type { Round } from '../round.ts'
import type { Seeded } from '../seeded.ts'
import { chatOnce } from './chats.ts'

/** Chat by wallets that have been credited, each request with a sign-in of its own. */
export async function walletChat(round: Round, seeded: Seeded): Promise<void> {
  while (!round.isOver()) {
    const wallet = seeded.pick(creditedWallets(round))
    if (wallet) await chatOnce(round, seeded, 'wallet chat', await signIn(wallet, `${round.baseUrl}/chat/completions`))
    else await sleep(20)
  }
}

const creditedWallets = ({ book, wallets }: Round): PrivateKeyAccount[] =>
  wallets.filter(({ address }) => book.topUps.some(each => each.wallet === address && each.acknowledged))

const signInLifeMs = 60_000

/** The header of a sign-in for one request. */
export async function signIn(wallet: PrivateKeyAccount, url: string): Promise<Record<string, string>> {
  const nowMs = Date.now()
  const fields: SignInFields = {
    domain: new URL(url).host,
    address: wallet.address,
    uri: url,
    version: '1',
    chainId: evmNetwork,
    nonce: randomBytes(12).toString('hex'),
    issuedAt: new Date(nowMs).toISOString(),
    expirationTime: new Date(nowMs + signInLifeMs).toISOString(),
  }
  const signature = await wallet.signMessage({ message: writeSignInMessage(fields) })
  return { 'sign-in-with-x': writeSignInHeader({ fields, signature }, 'message') }
}

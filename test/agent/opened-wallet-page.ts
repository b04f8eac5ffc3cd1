import { join } from 'node:path'
import { openOwnerWallet } from '#agent/wallet/owner-wallet.ts'
import { openOwnerSends, remoteSettler } from '#agent/wallet/send-from-wallet.ts'
import { openWalletPage, type WalletPageOptions } from '#agent/wallet-page/open-wallet-page.ts'
import { pageKeyHeader } from '#pages/kit/wire.ts'
import { walletKey } from './pretend-service.ts'

/** The page of a folder's wallet, opened by an owner who has given the passphrase. */
export async function openedWalletPage(
  folder: string,
  baseUrl: string,
  options: Partial<WalletPageOptions> = {},
  env: Record<string, string> = {},
) {
  const all = { FAREBOX_DATA: folder, FAREBOX_BASE_URL: baseUrl, FAREBOX_WALLET_KEY: walletKey, ...env }
  const ownerWallet = openOwnerWallet(folder, all)
  const sends = openOwnerSends(ownerWallet, all)
  const unknown = { amountMicroUsd: null, atMs: null, unknown: 'nobody was asked' }
  const page = await openWalletPage({
    ownerWallet,
    place: { folder, isJournalShared: false },
    by: 'page, ada',
    holdings: async () => ({ creditMicroUsd: null, creditSeen: unknown, onChain: [] }),
    sends,
    settlerFor: async url => remoteSettler(url),
    outputFolders: [join(folder, 'output')],
    ...options,
  })
  return {
    ...{ ownerWallet, page },
    async close() {
      await page.close()
      await sends.close()
      await ownerWallet.close()
    },
  }
}

/** A browser, as far as the page needs one: it spends the link and keeps the cookie. */
export async function visit(link: string) {
  const { origin, hash } = new URL(link)
  const spend = (headers: Record<string, string> = {}) =>
    fetch(`${origin}/api/session`, {
      method: 'POST',
      headers: { origin, 'content-type': 'application/json', ...headers },
      body: JSON.stringify({ token: hash.slice(1) }),
    })
  const session = await spend()
  const cookie = session.headers.get('set-cookie')?.split(';')[0] ?? ''
  const { key = '' } = (await session.json()) as { key?: string }
  const ask = async (name: string, body?: unknown, headers: Record<string, string> = {}) => {
    const [method = '', path = ''] = name.split(' ')
    const json = body === undefined ? {} : { 'content-type': 'application/json', origin }
    const answer = await fetch(`${origin}${path}`, {
      method,
      headers: { cookie, [pageKeyHeader]: key, ...json, ...headers },
      ...(body === undefined ? {} : { body: typeof body === 'string' ? body : JSON.stringify(body) }),
    })
    const text = await answer.text()
    return {
      status: answer.status,
      headers: answer.headers,
      text,
      json: text.startsWith('{') ? JSON.parse(text) : null,
    }
  }
  return { origin, session, cookie, key, spend, ask }
}

/**
 * A service with demonstration models on a real socket, whose ledger may know some wallets; prints its address and its
 * customers' keys, and ends with its stdin.
 */
import { once } from 'node:events'
import { join } from 'node:path'
import { microUsd } from '#contract/money.ts'
import { DemoChat } from '#engines/demo/chat.ts'
import { DemoVideo } from '#engines/demo/video.ts'
import { openWalletAccount, walletAccountId } from '#ledger/accounts/customers.ts'
import { openSqliteStore } from '#ledger/store/sqlite/open.ts'
import { uuidV7 } from '#ledger/store/uuid-v7.ts'
import { demoModels } from '#service/models/demo-models.ts'
import { openService } from '#service/running/open-service.ts'
import { customers, publicUrl, walletAt } from '../signed/signed-calls.ts'

const [folder = '', wallets = '0'] = process.argv.slice(2)
if (Number(wallets) > 0) await openAccounts(Number(wallets))
const service = await openService({
  publicUrl,
  folder,
  secrets: ['a secret of a bench, which guards nothing'],
  models: demoModels({ chat: new DemoChat(), video: new DemoVideo({ workFolder: folder }) }),
})
const { port } = await service.listen({ host: '127.0.0.1', port: 0 })
await service.warm()
const created = await Promise.all(Array.from({ length: customers }, () => service.createKey({ usd: '1000' })))
process.stdout.write(`${JSON.stringify({ port, keys: created.map(({ key }) => key) })}\n`)
process.stdin.resume()
await once(process.stdin, 'end')
await service.close()

/** Accounts of wallets with credit, as their first top-ups leave them; the service has not met the wallets yet. */
async function openAccounts(count: number): Promise<void> {
  const store = await openSqliteStore({ path: join(folder, 'farebox.db') })
  const atMs = Date.now()
  const units = Array.from({ length: count }, (_, place) => {
    const wallet = walletAt(place).address
    const account = walletAccountId(wallet)
    const amount = microUsd(1_000_000_000n)
    const ref = `start of ${wallet}`
    const credit = { op: 'credit', account, amount, source: 'system:grant', ref, atMs } as const
    return { id: uuidV7(atMs), ops: [...openWalletAccount(wallet, atMs), credit] }
  })
  while (units.length > 0) await store.commit(units.splice(0, 1_000))
  await store.close()
}

/**
 * A second service beside the first one, on the same PostgreSQL database, folder and chain; what it needs comes by its
 * environment. Says when it is ready, as the first one does.
 */
import { join } from 'node:path'
import { generatePrivateKey, privateKeyToAddress } from 'viem/accounts'
import { dataFolder } from '#cli/data/data-folder.ts'
import { folderSecrets } from '#cli/data/folder-secrets.ts'
import { basePath } from '#contract/wire/base-url.ts'
import { DemoChat } from '#engines/demo/chat.ts'
import { DemoVideo } from '#engines/demo/video.ts'
import { loadLocalSolanaKeys } from '#local/keys.ts'
import { demoModels } from '#service/models/demo-models.ts'
import { openService } from '#service/running/open-service.ts'
import { freePort } from '../postgres/cluster.ts'

const [, , root = ''] = process.argv
const { DATABASE_URL = '', FAREBOX_CHAIN_URL = '', FAREBOX_SOLANA_URL = '', FAREBOX_OPTION = '{}' } = process.env

const folder = dataFolder(root)
// A key of its own: two processes that send with one key take each other's numbers.
const facilitatorKey = generatePrivateKey()
const wei = '0x8ac7230489e80000'
const setBalance = {
  jsonrpc: '2.0',
  id: 1,
  method: 'anvil_setBalance',
  params: [privateKeyToAddress(facilitatorKey), wei],
}
await fetch(FAREBOX_CHAIN_URL, {
  method: 'POST',
  headers: { 'content-type': 'application/json' },
  body: JSON.stringify(setBalance),
})
const port = await freePort()
const publicUrl = `http://127.0.0.1:${port}`
const say = (line: string) => process.stderr.write(`${line}\n`)
const video = new DemoVideo({ workFolder: folder.engines, onComplaint: (job, why) => say(`${job}: ${why}`) })
// On Solana nothing is numbered, so both may pay fees with one key, which is what their offers name.
const { payee, feePayer } = await loadLocalSolanaKeys(root)
const solana = {
  payTo: payee.address,
  rpcUrl: FAREBOX_SOLANA_URL,
  commitment: 'finalized',
  feePayerKey: feePayer.secretKey,
} as const
const service = await openService({
  publicUrl,
  folder: join(folder.database, '..'),
  database: DATABASE_URL,
  secrets: await folderSecrets(folder),
  models: demoModels({ chat: new DemoChat(), video }),
  payments: {
    options: [JSON.parse(FAREBOX_OPTION)],
    rpcUrl: FAREBOX_CHAIN_URL,
    confirmations: 0,
    facilitatorKey,
    solana,
  },
  log: { info() {}, warn: (_, words) => say(words), error: (_, words) => say(words) },
})
await service.listen({ host: '127.0.0.1', port })
await service.warm()
process.once('SIGTERM', () => void service.close().then(() => process.exit(0)))
process.stdout.write(
  `${JSON.stringify({
    event: 'ready',
    baseUrl: publicUrl + basePath,
    evmRpcUrl: FAREBOX_CHAIN_URL,
    solanaRpcUrl: FAREBOX_SOLANA_URL,
  })}\n`,
)

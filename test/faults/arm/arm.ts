/**
 * Loaded by `--import` before the real server, in a process of the harness only. Modules through which the server
 * meets the world are replaced by ones that wrap them, so that nothing in the product itself knows of faults.
 */
import { takeOrder } from './fault-orders.ts'
import { replaceModules } from './replace-modules.ts'

replaceModules(new URL('./', import.meta.url).href, [
  ['ledger/store/sqlite/open.ts', 'armed-sqlite-store.ts'],
  ['ledger/store/postgres/open.ts', 'armed-postgres-store.ts'],
  ['payments/evm/local-facilitator.ts', 'armed-facilitator.ts'],
  ['payments/evm/evm-payment-chain.ts', 'armed-chain.ts'],
  ['payments/solana/local-svm-facilitator.ts', 'armed-svm-facilitator.ts'],
  ['payments/solana/svm-payment-chain.ts', 'armed-svm-chain.ts'],
  ['engines/demo/chat.ts', 'armed-chat.ts'],
  ['engines/demo/video.ts', 'armed-video.ts'],
  ['media/media-store.ts', 'armed-media.ts'],
  ['service/running/open-service.ts', 'armed-open-service.ts'],
  ['contract/time.ts', 'armed-clock.ts'],
])

const first = process.env.FAREBOX_FAULT_ORDER
if (first) takeOrder(JSON.parse(first))
process.on('message', takeOrder)
// The harness is listened to, but not waited for.
process.channel?.unref()

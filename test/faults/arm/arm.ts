/**
 * Loaded by `--import` before the real server, in a process of the harness only. Modules through which the server
 * meets the world are replaced by ones that wrap them, so that nothing in the product itself knows of faults.
 */
import { existsSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { takeOrder } from './fault-orders.ts'

const here = new URL('./', import.meta.url).href
const source = new URL('../../../src/', import.meta.url).href

/** What the product imports, and what it is given. */
const replacements = new Map(
  [
    ['ledger/store/sqlite/open.ts', 'armed-sqlite-store.ts'],
    ['ledger/store/postgres/open.ts', 'armed-postgres-store.ts'],
    ['payments/evm/local-facilitator.ts', 'armed-facilitator.ts'],
    ['payments/evm/evm-payment-chain.ts', 'armed-chain.ts'],
    ['payments/solana/local-svm-facilitator.ts', 'armed-svm-facilitator.ts'],
    ['payments/solana/svm-payment-chain.ts', 'armed-svm-chain.ts'],
    ['engines/demo/chat.ts', 'armed-chat.ts'],
    ['engines/demo/video.ts', 'armed-video.ts'],
    ['service/jobs/media-store.ts', 'armed-media.ts'],
    ['service/running/open-service.ts', 'armed-open-service.ts'],
    ['contract/clock.ts', 'armed-clock.ts'],
  ].map(([real = '', armed = '']) => [`${source}${real}`, `${here}${armed}`] as const),
)

// A file that was moved would be armed no more, and nobody would notice.
for (const real of replacements.keys()) {
  if (!existsSync(new URL(real))) throw new Error(`The harness replaces ${real}, which is not there.`)
}

registerHooks({
  resolve(specifier, context, nextResolve) {
    const resolved = nextResolve(specifier, context)
    // What wraps a module needs the real one.
    if (context.parentURL?.startsWith(here)) return resolved
    const url = replacements.get(resolved.url)
    return url ? { ...resolved, url } : resolved
  },
})

const first = process.env.FAREBOX_FAULT_ORDER
if (first) takeOrder(JSON.parse(first))
process.on('message', takeOrder)
// The harness is listened to, but not waited for.
process.channel?.unref()

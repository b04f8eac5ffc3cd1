/**
 * Loaded by `--import` before a wallet of the harness. Modules between two steps of a payment are replaced by ones that
 * wrap them, so that nothing in the product itself knows of faults.
 */
import { existsSync } from 'node:fs'
import { registerHooks } from 'node:module'

const here = new URL('./', import.meta.url).href
const source = new URL('../../../../src/', import.meta.url).href

/** What the product imports, and what it is given. */
const replacements = new Map(
  [
    ['wallet/records/journal.ts', 'armed-journal.ts'],
    ['wallet/records/open-records.ts', 'armed-records.ts'],
    ['wallet/payment/payer.ts', 'armed-sign.ts'],
    ['wallet/payment/send-payment.ts', 'armed-send.ts'],
    ['wallet/payment/top-up-lease.ts', 'armed-lease.ts'],
    ['wallet/limits.ts', 'armed-limits.ts'],
    ['client/limits.ts', 'armed-client-limits.ts'],
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

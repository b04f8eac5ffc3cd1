/**
 * Loaded by `--import` before the real `farebox mcp`, in a process of the harness only. Modules through which the agent
 * keeps, sends and answers are replaced by ones that wrap them, so that nothing in the product itself knows of faults.
 */
import { existsSync } from 'node:fs'
import { registerHooks } from 'node:module'
import { takeOrder } from '../../faults/arm/fault-orders.ts'

const here = new URL('./', import.meta.url).href
const source = new URL('../../../src/', import.meta.url).href

const replacements = new Map(
  [
    ['agent/calls/paid-call-rows.ts', 'armed-paid-call-rows.ts'],
    ['agent/jobs/job-rows.ts', 'armed-job-rows.ts'],
    ['client/wire/wire.ts', 'armed-wire.ts'],
    ['mcp/calls/results.ts', 'armed-results.ts'],
    ...(process.env.FAREBOX_TEST_LONG_CALLS === '1' ? [['agent/bounds.ts', 'armed-bounds.ts']] : []),
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

takeOrder(JSON.parse(process.env.FAREBOX_FAULT_ORDER ?? '{}'))

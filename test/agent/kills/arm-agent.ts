/**
 * Loaded by `--import` before the real `farebox mcp`, in a process of the harness only. Modules through which the agent
 * keeps, sends and answers are replaced by ones that wrap them, so that nothing in the product itself knows of faults.
 */
import { takeOrder } from '../../faults/arm/fault-orders.ts'
import { replaceModules } from '../../faults/arm/replace-modules.ts'

replaceModules(new URL('./', import.meta.url).href, [
  ['agent/calls/paid-call-rows.ts', 'armed-paid-call-rows.ts'],
  ['agent/jobs/job-rows.ts', 'armed-job-rows.ts'],
  ['client/wire/wire.ts', 'armed-wire.ts'],
  ['mcp/calls/results.ts', 'armed-results.ts'],
  ...(process.env.FAREBOX_TEST_LONG_CALLS === '1' ? [['agent/bounds.ts', 'armed-bounds.ts'] as const] : []),
])

takeOrder(JSON.parse(process.env.FAREBOX_FAULT_ORDER ?? '{}'))

import { doneResult as real } from '#mcp/tool-results.ts'
import { comeBy } from '../../faults/arm/fault-orders.ts'

export * from '#mcp/tool-results.ts'

export const doneResult: typeof real = done => {
  comeBy('before the result is written')
  return real(done)
}

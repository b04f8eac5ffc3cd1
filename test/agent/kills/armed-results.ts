import { doneResult as real } from '#mcp/calls/results.ts'
import { comeBy } from '../../faults/arm/fault-orders.ts'

export * from '#mcp/calls/results.ts'

export const doneResult: typeof real = (done, links) => {
  comeBy('before the result is written')
  return real(done, links)
}

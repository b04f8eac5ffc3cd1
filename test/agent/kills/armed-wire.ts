import { subscribe } from 'node:diagnostics_channel'
import { undiciWire as real } from '#client/wire/wire.ts'
import { comeBy } from '../../faults/arm/fault-orders.ts'

export * from '#client/wire/wire.ts'

/** Requests that cost: work, and a payment that is signed. */
const costs = ({ path, headers }: { path: string; headers: string }): boolean =>
  /\/(chat\/completions|video\/queue)$/.test(path) || /payment-signature/i.test(headers)

subscribe('undici:request:bodySent', message => {
  const { request } = message as { request: { path: string; headers: unknown } }
  if (costs({ path: request.path, headers: JSON.stringify(request.headers) })) comeBy('after the request left')
})

export const undiciWire: typeof real = () => {
  const { wire, close } = real()
  return {
    close,
    async wire(request) {
      const response = await wire(request)
      const isPaid = costs({ path: new URL(request.url).pathname, headers: Object.keys(request.headers).join() })
      if (isPaid && response.status === 200) comeBy('after the answer came')
      return response
    },
  }
}

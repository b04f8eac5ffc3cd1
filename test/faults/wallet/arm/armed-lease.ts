import { withTopUpLease as real } from '#wallet/payment/top-up-lease.ts'
import { pass } from './halts.ts'
import { tell } from './tell.ts'

export * from '#wallet/payment/top-up-lease.ts'

export const withTopUpLease: typeof real = (records, pause, work) => {
  let hasTold = false
  const telling: typeof pause = ms => {
    if (!hasTold) tell({ kind: 'waits' })
    hasTold = true
    return pause(ms)
  }
  return real(records, telling, async lease => {
    if (lease.hasWaited) tell({ kind: 'waited' })
    pass('turn taken')
    try {
      return await work(lease)
    } finally {
      pass('turn over')
    }
  })
}

import { withTopUpLease as real } from '#wallet/top-up-lease.ts'
import { comeBy } from '../../arm/fault-orders.ts'
import { tell } from './tell.ts'

export * from '#wallet/top-up-lease.ts'

export const withTopUpLease: typeof real = (records, pause, work) =>
  real(records, pause, async lease => {
    if (lease.hasWaited) tell({ kind: 'waited' })
    comeBy('turn taken')
    try {
      return await work(lease)
    } finally {
      comeBy('turn over')
    }
  })

import { PaidCallRows as Rows } from '#agent/calls/paid-call-rows.ts'
import { comeBy } from '../../faults/arm/fault-orders.ts'

export * from '#agent/calls/paid-call-rows.ts'

export class PaidCallRows extends Rows {
  override claim(...order: Parameters<Rows['claim']>): ReturnType<Rows['claim']> {
    const claim = super.claim(...order)
    comeBy('after the intent row')
    return claim
  }

  override answered(...kept: Parameters<Rows['answered']>): void {
    super.answered(...kept)
    comeBy('after the answer is kept')
  }

  override mark(...marked: Parameters<Rows['mark']>): void {
    if (marked[1] === 'delivered') comeBy('after the result is written')
    super.mark(...marked)
  }
}

import { JobRows as Rows } from '#agent/job-rows.ts'
import { comeBy } from '../../faults/arm/fault-orders.ts'

export * from '#agent/job-rows.ts'

export class JobRows extends Rows {
  override saved(...saved: Parameters<Rows['saved']>): void {
    comeBy('after the file is saved')
    super.saved(...saved)
    comeBy('after the file is noted')
  }
}

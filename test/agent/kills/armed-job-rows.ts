import { JobRows as Rows } from '#agent/jobs/job-rows.ts'
import { comeBy } from '../../faults/arm/fault-orders.ts'

export * from '#agent/jobs/job-rows.ts'

export class JobRows extends Rows {
  override insertCall(...job: Parameters<Rows['insertCall']>): ReturnType<Rows['insertCall']> {
    const row = super.insertCall(...job)
    comeBy('after the call is a job')
    return row
  }

  override saved(...saved: Parameters<Rows['saved']>): void {
    comeBy('after the file is saved')
    super.saved(...saved)
    comeBy('after the file is noted')
  }
}

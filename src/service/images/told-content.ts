import { isContentViolation } from '#contract/headers.ts'
import { ServiceError } from '#contract/service-error.ts'
import type { Call } from '../call.ts'

/** Work of an engine on pictures, whose answer says whether the engine found its content allowed (brief §9). */
export async function toldContent<Value>(call: Call, work: () => Promise<Value>): Promise<Value> {
  try {
    const value = await work()
    call.set(isContentViolation, false)
    return value
  } catch (error) {
    if (error instanceof ServiceError && error.kind === 'CONTENT_POLICY_VIOLATION') call.set(isContentViolation, true)
    throw error
  }
}

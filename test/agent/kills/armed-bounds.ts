export * from '#agent/bounds.ts'

/** Milliseconds after which a call becomes a job: nobody waits 40 s for a test. */
export const longCallMs = 200

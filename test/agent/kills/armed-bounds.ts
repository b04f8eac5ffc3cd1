export * from '#agent/bounds.ts'

/** Milliseconds after which a call becomes a job: 40 s would be too long for a test. */
export const longCallMs = 200

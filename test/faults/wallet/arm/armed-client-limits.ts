export * from '#client/limits.ts'

// The harness's service blocks no caller, and eight processes of one wallet fail more often than a breaker allows.
export const breakerFailures = 1_000_000
export const breakerEasesAt = 1_000_000
export const breakerCeiling = 1_000_000
export const backoffBaseMs = 10
export const backoffCapMs = 50
export const turnPauseMs = 10

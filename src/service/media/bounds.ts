import { dayMs } from '#contract/time.ts'

/** How long a person's word on the same bytes and the same version of a policy holds: a year, and they are asked again. */
export const attestationMs = 365 * dayMs

import { admissionFloorUsd } from '#contract/limits.ts'
import { microUsd } from '#contract/money.ts'

/** What a caller must have before a service works for it at all. */
export const admissionFloor = microUsd(Math.round(admissionFloorUsd * 1e6))

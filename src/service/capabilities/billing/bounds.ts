import { minuteMs } from '#contract/time.ts'

/** Every limit of what tells an account's use, with its unit. */

/** How long an account gets the same analytics again (published contract §10.3). */
export const analyticsFreshMs = 10 * minuteMs

/** Analytics that are kept: each some 100 KB for an account with hundreds of keys. */
export const keptAnalytics = 200

/** Days of one look, as published. */
export const analyticsDays = 90

/** How long one may take before its caller is told to ask for less: far below what proxies wait. */
export const analyticsMs = 20_000

/** Names of a chart, as published. */
export const chartNames = 8

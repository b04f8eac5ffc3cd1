import { dayMs } from '#contract/time.ts'

/** Brief §2.6: a prompt's length on a model that says nothing else. */
export const promptCharacters = 2_500

/** Models of one service; the list is one answer. */
export const modelCount = 1_000

/** Ids that an answer about a model that there is not names; all of them are a list of its own. */
export const namedModels = 3

/** A voice made of a recording is good for seven days (published contract §8.3). */
export const voiceRetentionMs = 7 * dayMs

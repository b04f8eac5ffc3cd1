/** How the top-up treats the first presentation of a payment; a repeat of the same one is answered as it should be. */
export const behaviours = [
  'clean',
  'accept then time-out',
  '5xx after settle',
  'double 402',
  'slow answer',
  'reconcile unavailable',
  'declared safe',
  'broken before',
  'answer lost',
  'refused',
  'silent for good',
] as const

export type Behaviour = (typeof behaviours)[number]

/** Their first presentation is settled at once. */
const settlesLater: readonly Behaviour[] = ['declared safe', 'broken before', 'refused']
export const settlesAtOnce = (behaviour: Behaviour): boolean => !settlesLater.includes(behaviour)

/** The wallet hears nothing that it could count as an answer. */
export const losesAnswer: readonly Behaviour[] = ['accept then time-out', '5xx after settle', 'answer lost']
/** Credited sooner or later without a jump of the clock. */
export const credits: readonly Behaviour[] = ['clean', 'slow answer', 'answer lost', 'declared safe']
/** Not answered in its first wave, from any process. */
export const staysOpen: readonly Behaviour[] = ['reconcile unavailable', 'silent for good']

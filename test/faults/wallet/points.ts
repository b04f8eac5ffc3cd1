/** The steps of a payment, as its row has them. */
export const steps = ['planned', 'signed', 'sent', 'unknown', 'confirmed', 'dead'] as const
export type Step = (typeof steps)[number]

/** A payment is under way: the service has it and has not settled, or has settled and not answered. */
export const flightPoints = ['in flight', 'settled'] as const
export type FlightPoint = (typeof flightPoints)[number]

/** Where a process is killed: before, inside and after the decision of each step, and around every effect between two. */
export const points: readonly string[] = [
  'turn taken',
  'before planning',
  ...steps.flatMap(step => [`before ${step}`, `in ${step}`, `after ${step}`]),
  'before signing',
  'after signing',
  'before sending',
  ...flightPoints,
  'answered',
  'turn over',
]

/** Where a process waits while others work: between two decisions. What it then does next is a decision. */
export const pointsBeforeDecisions = [
  'turn taken',
  'before planning',
  'after planned',
  'before signing',
  'after signing',
  'after signed',
  'after unknown',
] as const
/** The same, and what comes next is an effect, or nothing. */
const pointsBeforeEffects = ['before sending', 'after sent', 'answered', 'after confirmed', 'turn over'] as const
export const pointsBetweenDecisions = [...pointsBeforeDecisions, ...pointsBeforeEffects] as const
/** A process that waits here keeps all others from deciding, so the wait ends by itself. */
export const pointsInDecisions = ['before planned', 'in planned', 'in signed', 'in sent'] as const
export type HaltPoint = (typeof pointsBetweenDecisions | typeof pointsInDecisions)[number]

/** A process comes by these where an answer is lost, or where another one has died over a plan. */
export const needsLostAnswer = (point: string): boolean => point.endsWith(' unknown')
export const needsDeadPlan = (point: string): boolean => point.endsWith(' dead')

/** The steps of a payment, as its row has them. */
export const steps = ['planned', 'signed', 'sent', 'unknown', 'confirmed', 'dead'] as const
export type Step = (typeof steps)[number]

/** A payment is under way: the service has it and has not settled, or has settled and not answered. */
export const flightPoints = ['in flight', 'settled'] as const
export type FlightPoint = (typeof flightPoints)[number]

/** Where a process is killed: before, inside and after the decision of each step, and around every effect between two. */
export const points: readonly string[] = [
  'turn taken',
  ...steps.flatMap(step => [`before ${step}`, `in ${step}`, `after ${step}`]),
  'before signing',
  'after signing',
  'before sending',
  ...flightPoints,
  'answered',
  'turn over',
]

/** A process comes by these where an answer is lost, or where another one has died over a plan. */
export const needsLostAnswer = (point: string): boolean => point.endsWith(' unknown')
export const needsDeadPlan = (point: string): boolean => point.endsWith(' dead')

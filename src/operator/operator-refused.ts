/** Why an operator's query or action was refused. Nothing was changed. */
export class OperatorRefused extends Error {
  override readonly name = 'OperatorRefused'
}

/** Another action was committed first, and this one must be judged by a history that includes it. Nothing was changed. */
export class Overtaken extends Error {
  override readonly name = 'Overtaken'
}

export const refuse = (sentence: string): OperatorRefused => new OperatorRefused(sentence)

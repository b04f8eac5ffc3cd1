/** Why an operator's query or action was refused. Nothing was changed. */
export class OperatorRefused extends Error {
  override readonly name = 'OperatorRefused'
}

export const refuse = (sentence: string): OperatorRefused => new OperatorRefused(sentence)

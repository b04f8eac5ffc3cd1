/** Why an operator's question or act was refused, in words. Nothing was changed. */
export class OperatorRefused extends Error {
  override readonly name = 'OperatorRefused'
}

export const refuse = (sentence: string): OperatorRefused => new OperatorRefused(sentence)

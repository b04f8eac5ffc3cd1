/** A failure told to the person at the terminal: what happened, what to do next, and the exit code (1 failed, 2 wrong usage). */
export class CliError extends Error {
  override readonly name = 'CliError'
  readonly nextStep: string
  readonly exitCode: 1 | 2

  constructor(sentence: string, nextStep: string, exitCode: 1 | 2 = 1) {
    super(sentence)
    this.nextStep = nextStep
    this.exitCode = exitCode
  }
}

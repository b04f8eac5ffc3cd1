/** How the package is installed: without its script, which would download a program that nothing here uses. */
const install = 'npm install --ignore-scripts node-av'

/** FFmpeg is not installed, or lacks encoders. */
export class FfmpegMissing extends Error {
  /** A sentence, and another one that says what to do. */
  readonly problem: string
  readonly nextStep: string
  /** The command that installs it. */
  readonly install = install
  /** Whether it is installed, though without some of the encoders. */
  readonly isInstalled: boolean

  /** `lacks` are the encoders that the installed one does not have. */
  constructor(lacks: readonly string[] = []) {
    const problem = lacks.length
      ? `The installed package node-av lacks ${lacks.join(' and ')}`
      : 'The package node-av, which holds FFmpeg, is not installed'
    super(`${problem}: run \`${install}\`.`)
    this.name = 'FfmpegMissing'
    this.isInstalled = lacks.length > 0
    this.problem = `${problem}.`
    this.nextStep = `Run \`${install}\`.`
  }
}

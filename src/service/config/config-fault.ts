/** What is wrong at one place of a configuration, in words for whoever wrote it. */
export interface ConfigFault {
  /** From 1. */
  line: number
  column: number
  /** `models[0].price`; empty for the file as a whole. */
  field: string
  sentence: string
}

/** Everything that was found wrong with a configuration; nothing of it is in force. */
export class ConfigRefused extends Error {
  override readonly name = 'ConfigRefused'
  readonly faults: readonly ConfigFault[]

  constructor(faults: readonly ConfigFault[]) {
    super(`${faults.length} ${faults.length === 1 ? 'fault' : 'faults'}`)
    this.faults = faults
  }
}

/** `farebox.yaml:12:5 models[0].price: Field is required.` */
export const faultLine = (file: string, { line, column, field, sentence }: ConfigFault): string =>
  `${file}:${line}:${column} ${field === '' ? '' : `${field}: `}${sentence}`

export type ConfigPath = readonly (string | number)[]

/** `models[0].price` */
export const fieldOf = (path: ConfigPath): string =>
  path.map((part, index) => (typeof part === 'number' ? `[${part}]` : `${index ? '.' : ''}${part}`)).join('')

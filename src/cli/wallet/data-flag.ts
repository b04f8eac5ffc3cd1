type Environment = Readonly<Record<string, string | undefined>>

/** Of every command that uses a wallet's folder. */
export const dataFlag = { data: { type: 'string' } } as const

/** The folder that a flag names comes before the one of the environment. */
export const withDataFlag = (env: Environment, data: string | undefined): Environment =>
  data === undefined ? env : { ...env, FAREBOX_DATA: data }
